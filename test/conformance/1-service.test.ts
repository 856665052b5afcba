import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { chat, expectError, messagesRoute, postRoutes } from "./requests.ts";
import { newKey, useWorld } from "./world.ts";

const world = useWorld();

async function modelIds(response: Response): Promise<string[]> {
  const list = (await response.json()) as { data: { id: string }[] };
  return list.data.map((model) => model.id);
}

describe("1. What the service does", () => {
  test("1 offers models, chat completions, responses, messages, token counting and usage, to keys of both modes", async () => {
    for (const key of world.both) {
      for (const path of ["/v1/models", "/v1/usage"]) {
        expect((await world.sluice.request(path, { key })).status).toBe(200);
      }
      for (const { path, body } of postRoutes) {
        const response = await world.sluice.request(path, { key, body });
        expect(response.status, path).toBe(200);
        await response.arrayBuffer();
      }
    }
  });

  test("1 rule 1: all paths are relative to the origin for the key's mode", async () => {
    const credit = await world.sluice.request("/v1/usage", { key: world.credit, origin: "" });
    const token = await world.sluice.request("/v1/usage", { key: world.token, origin: "/token" });
    expect((await credit.json()) as JsonObject).toMatchObject({ key: { mode: "credit" } });
    expect((await token.json()) as JsonObject).toMatchObject({ key: { mode: "token_budget" } });
  });

  test("1 rule 2: a credit key must not use the /token prefix, a token-budget key must always use it", async () => {
    const wrongForCredit = await world.sluice.request("/v1/usage", { key: world.credit, origin: "/token" });
    const wrongForToken = await world.sluice.request("/v1/usage", { key: world.token, origin: "" });
    expect((await expectError(wrongForCredit, "invalid_credentials", "A")).message).toContain("/v1");
    expect((await expectError(wrongForToken, "invalid_credentials", "A")).message).toContain("/token");
  });

  test("1 rule 3: model availability is specific to each key", async () => {
    const key = await newKey(world, { models: ["gpt-test"] });
    expect(await modelIds(await world.sluice.request("/v1/models", { key }))).toEqual(["gpt-test"]);
    expect(
      (await modelIds(await world.sluice.request("/v1/models", { key: world.credit }))).length,
    ).toBeGreaterThan(2);
    const refused = await world.sluice.request(messagesRoute.path, { key, body: messagesRoute.body });
    await expectError(refused, "key_disabled", "B");
  });

  test("1 rule 4: a client that appends the Format B path to the bare origin, with a bearer key, discovers models and is served", async () => {
    for (const key of world.both) {
      const ids = await modelIds(await world.sluice.request("/v1/models?limit=1000", { key }));
      expect(ids).toContain("claude-test");
      const response = await world.sluice.request("/v1/messages?beta=true", {
        key,
        body: messagesRoute.body,
      });
      expect((await response.json()) as JsonObject).toMatchObject({ type: "message" });
    }
  });

  test("1 rule 5: a key restricted to one provider cannot use models of another provider", async () => {
    for (const mode of ["credit", "token_budget"] as const) {
      const key = await newKey(world, { mode, provider: "anthropic" });
      expect(await modelIds(await world.sluice.request("/v1/models", { key }))).toEqual(["claude-test"]);
      expect((await world.sluice.request(messagesRoute.path, { key, body: messagesRoute.body })).status).toBe(
        200,
      );
      await expectError(await world.sluice.request(chat.path, { key, body: chat.body }), "key_disabled", "A");
    }
    expect(world.provider.requests.every(({ path }) => path.startsWith("/anthropic"))).toBe(true);
  });

  test("1 rule 6: a key of one mode cannot be used on the other mode's origin, on any route", async () => {
    for (const key of world.both) {
      const origin = key.mode === "credit" ? "/token" : "";
      for (const path of ["/v1/models", "/v1/usage"]) {
        await expectError(await world.sluice.request(path, { key, origin }), "invalid_credentials", "A");
      }
      for (const { path, body, format } of postRoutes) {
        await expectError(
          await world.sluice.request(path, { key, origin, body }),
          "invalid_credentials",
          format,
        );
      }
    }
    expect(world.provider.requests).toEqual([]);
  });
});
