import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type { ModelSettings } from "../../src/config/settings.ts";
import type { ClientCall } from "../../src/gateway/exchange/client-call.ts";
import { routes } from "../../src/gateway/operations.ts";
import { expectedOf } from "../../src/gateway/request/check-body.ts";
import { rejectIncapable, rejectOverlongInput } from "../../src/gateway/request/model.ts";

describe("input for a window of 1000 tokens", () => {
  const model = { contextWindow: 1000 } as ModelSettings;
  const bytes = new Uint8Array();
  const counting = (count: number) => {
    const asked: Uint8Array[] = [];
    const request = async (body: Uint8Array) => {
      asked.push(body);
      return count;
    };
    return {
      asked,
      tokens: {
        request,
        text: async () => 0,
        requestAtMost: async () => 0,
      },
    };
  };

  test("is not even counted if its estimate fits exactly", async () => {
    const { asked, tokens } = counting(5000);
    expect(await rejectOverlongInput(model, 1000, bytes, () => tokens)).toBeUndefined();
    expect(asked).toHaveLength(0);
  });

  test("is counted if its estimate is one over", async () => {
    const { asked, tokens } = counting(1000);
    await rejectOverlongInput(model, 1001, bytes, () => tokens);
    expect(asked).toEqual([bytes]);
  });

  test("is left to the provider up to a tenth over it, and refused one above that", async () => {
    await rejectOverlongInput(model, 9000, bytes, () => counting(1100).tokens);
    const refused = rejectOverlongInput(model, 9000, bytes, () => counting(1101).tokens);
    expect(await refused?.catch(String)).toContain("prompt is too long: 1101 tokens > 1000 maximum");
  });

  test("is refused by the smaller of the count and the estimate", async () => {
    expect(await rejectOverlongInput(model, 1050, bytes, () => counting(9000).tokens)).toBeUndefined();
    const refused = rejectOverlongInput(model, 1200, bytes, () => counting(9000).tokens);
    expect(await refused?.catch(String)).toContain("prompt is too long: 1200 tokens > 1000 maximum");
  });

  test("has no limit where the window is not known", async () => {
    const unknown = { contextWindow: null } as ModelSettings;
    expect(await rejectOverlongInput(unknown, 1e9, bytes, () => counting(1e9).tokens)).toBeUndefined();
  });
});

test("a request is checked as one of a beta if it says so", () => {
  const limits = { maxValues: 1, maxListItems: 1 } as never;
  const optionsOf = (path: string, headers: Record<string, string>) => {
    const route = routes.find((each) => each.path === path);
    const call = { route, request: new Request("http://localhost", { headers }) } as unknown as ClientCall;
    return expectedOf(call, "messages", limits).options;
  };
  const beta = { "anthropic-beta": "x" };
  expect(optionsOf("/v1/messages", beta)).toEqual({ hasBetas: true });
  expect(optionsOf("/v1/messages", {})).toEqual({ hasBetas: false });
});

describe("a model without images or tools", () => {
  const model = { id: "m", capabilities: { vision: false, tools: false } };
  const check = (body: JsonObject) => {
    try {
      rejectIncapable(body, model, "chat");
      return null;
    } catch (error) {
      return error instanceof GatewayError ? error.param : error;
    }
  };
  const image = { inline_data: { mime_type: "image/png", data: "iVBORw0KGgo=" } };

  test("is asked for neither in Google's form", () => {
    expect(check({ contents: { parts: image } })).not.toBeNull();
    expect(check({ contents: [{ parts: [{ functionResponse: { parts: [image] } }] }] })).not.toBeNull();
    expect(check({ contents: [], tools: { function_declarations: [{ name: "f" }] } })).toBe("tools");
  });

  test("is asked for what only looks like an image", () => {
    expect(check({ contents: [{ parts: [{ functionCall: { name: "f", args: image } }] }] })).toBeNull();
    expect(check({ contents: [{ parts: [{ text: "image/png" }] }], tools: [] })).toBeNull();
  });
});
