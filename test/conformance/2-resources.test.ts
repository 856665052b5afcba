import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import {
  countTokensResponse,
  messagesResponse,
} from "../../src/dialects/anthropic-messages/client/schema.ts";
import { chatResponse } from "../../src/dialects/openai-chat/client/schema.ts";
import { responsesResponse } from "../../src/dialects/openai-responses/client/schema.ts";
import { model, modelList } from "../../src/gateway/endpoints/models-schema.ts";
import { usageSummary } from "../../src/gateway/endpoints/usage-schema.ts";
import { fixture } from "../support/fixtures.ts";
import {
  type Body,
  chat,
  countTokens,
  expectError,
  expectShape,
  generationRoutes,
  messagesRoute,
  type Route,
  responses,
} from "./requests.ts";
import { useWorld } from "./world.ts";

const world = useWorld();

async function post({ path }: Route, body: Body): Promise<Response> {
  return world.sluice.request(path, { key: world.credit, body });
}

async function expectAccepted(route: Route, ...changes: Body[]): Promise<void> {
  for (const change of changes) {
    const response = await post(route, { ...route.body, ...change });
    expect(await response.text(), JSON.stringify(change)).not.toContain('"error":{');
    expect(response.status, JSON.stringify(change)).toBe(200);
  }
}

/** Each change is refused with the field's path, and none reaches the provider. */
async function expectRefused(route: Route, ...changes: [param: string, change: Body][]): Promise<void> {
  const before = world.provider.requests.length;
  for (const [param, change] of changes) {
    const response = await post(route, { ...route.body, ...change });
    const { param: named, message } = await expectError(response, "invalid_request", route.format);
    if (route.format === "A") expect(named).toBe(param);
    expect(message).toContain(param);
  }
  expect(world.provider.requests.length).toBe(before);
}

async function listed(headers = {}): Promise<{ object: string; data: JsonObject[] }> {
  const response = await world.sluice.request("/v1/models", { key: world.credit, headers });
  return (await response.json()) as { object: string; data: JsonObject[] };
}

/** What Anthropic's clients send. The interface has one shape for everybody. */
const anthropicHeaders = { "anthropic-version": "2023-06-01", "anthropic-beta": "a" };

describe("2. Resources and their fields", () => {
  test("2.1 a model has id, object, created, owned_by, and what else is known of it", async () => {
    const { data } = await listed();
    for (const entry of data) {
      expectShape(model, entry);
      expect(entry["capabilities"]).toBeObject();
      const path = `/v1/models/${entry["id"]}`;
      const one = await world.sluice.request(path, { key: world.credit, headers: anthropicHeaders });
      expect(await one.json()).toEqual(entry);
    }
    expect(data.find((entry) => entry["id"] === "gpt-test")).toMatchObject({
      object: "model",
      display_name: "GPT Test",
      tagline: "For tests",
      provider: "openai",
      context_window: 200_000,
      max_output_tokens: 4096,
      capabilities: { tools: true, vision: true },
      pricing: expect.any(Object),
    });
  });

  test("2.1 the id is the exact identifier to pass as model", async () => {
    await expectAccepted(chat, { model: "gpt-test" });
    await expectError(await post(chat, { ...chat.body, model: "GPT-TEST" }), "model_not_found", "A");
  });

  test("2.2 the model list has object, data and no other field", async () => {
    const list = await listed();
    expectShape(modelList, list);
    expect(await listed(anthropicHeaders)).toEqual(list);
    expect(list.object).toBe("list");
  });

  test("2.3 a chat message has one of five roles, and typed optional fields", async () => {
    const withMessage = (message: Body) => ({ messages: [message] });
    for (const role of ["developer", "system", "user", "assistant", "tool"]) {
      await expectAccepted(chat, withMessage({ role, content: "x" }));
    }
    await expectAccepted(
      chat,
      withMessage({ role: "user", content: [{ type: "text", text: "x" }], name: "n" }),
      withMessage({ role: "assistant", content: null, tool_calls: [] }),
      withMessage({ role: "tool", content: "x", tool_call_id: "c" }),
      withMessage({ role: "user", content: "x", unknown: { kept: true } }),
    );
    await expectRefused(
      chat,
      ["messages[0].role", withMessage({ content: "x" })],
      ["messages[0].role", withMessage({ role: "bot" })],
      ["messages[0].content", withMessage({ role: "user", content: 5 })],
      ["messages[0].content[0]", withMessage({ role: "user", content: ["x"] })],
      ["messages[0].name", withMessage({ role: "user", name: 5 })],
      ["messages[0].tool_call_id", withMessage({ role: "tool", tool_call_id: 5 })],
      ["messages[0].tool_calls", withMessage({ role: "assistant", tool_calls: {} })],
      [
        "messages[0].tool_calls[0].id",
        withMessage({ role: "assistant", tool_calls: [{ type: "function" }] }),
      ],
    );
  });

  test("2.4 a chat completion request is checked field by field", async () => {
    await expectAccepted(
      chat,
      { stream: false },
      { max_tokens: 1 },
      { temperature: 0, top_p: 0 },
      { temperature: 2, top_p: 1 },
      { stop: "x" },
      { stop: ["a", "b", "c", "d"] },
      { tools: [{ type: "function", function: { name: "f" } }], tool_choice: "auto" },
      { tool_choice: { type: "function", function: { name: "f" } } },
      { user: "somebody" },
    );
    await expectRefused(
      chat,
      ["model", { model: undefined }],
      ["model", { model: "" }],
      ["messages", { messages: undefined }],
      ["messages", { messages: [] }],
      ["stream", { stream: "yes" }],
      ["max_tokens", { max_tokens: 0 }],
      ["max_tokens", { max_tokens: 1.5 }],
      ["temperature", { temperature: 2.1 }],
      ["temperature", { temperature: -0.1 }],
      ["top_p", { top_p: 1.1 }],
      ["stop", { stop: ["a", "b", "c", "d", "e"] }],
      ["stop[0]", { stop: [1] }],
      ["tools", { tools: {} }],
      ["tool_choice", { tool_choice: 1 }],
      ["user", { user: 1 }],
    );
  });

  test("2.4 unknown fields reach the provider in the bytes they were sent in", async () => {
    const sent =
      '{ "unknown" : {"a":[1.0, 1e2]}, "model":"gpt-test",\n"messages":[{"role":"user","content":"h\\u00e9"}], "x":12345678901234567890 }';
    const response = await world.sluice.request(chat.path, { key: world.credit, body: sent });
    expect(response.status).toBe(200);
    expect(world.provider.requests[0]?.text).toBe(sent.replace("gpt-test", "gpt-upstream"));
  });

  test("2.5 a chat completion response is the provider's, byte for byte", async () => {
    const text = await (await post(chat, chat.body)).text();
    expect(text).toBe(fixture("chat/text.json"));
    expectShape(chatResponse, JSON.parse(text));
  });

  test("2.6 a responses request is checked field by field", async () => {
    await expectAccepted(
      responses,
      { input: [{ role: "user", content: "x" }] },
      { instructions: "be brief" },
      { max_output_tokens: 1 },
      { tools: [{ type: "function", name: "f" }], tool_choice: "auto" },
      { tool_choice: { type: "function", name: "f" } },
      { unknown: { kept: true } },
    );
    await expectRefused(
      responses,
      ["model", { model: undefined }],
      ["model", { model: "" }],
      ["input", { input: undefined }],
      ["input", { input: 5 }],
      ["input[0]", { input: ["x"] }],
      ["instructions", { instructions: 5 }],
      ["stream", { stream: 1 }],
      ["max_output_tokens", { max_output_tokens: 0 }],
      ["tools", { tools: "x" }],
      ["tool_choice", { tool_choice: 5 }],
    );
  });

  test("2.7 a responses result is the provider's, byte for byte", async () => {
    const text = await (await post(responses, responses.body)).text();
    expect(text).toBe(fixture("responses/text.json"));
    expectShape(responsesResponse, JSON.parse(text));
  });

  test("2.8 Format B content is a string or an array of typed objects, in messages of the roles user and assistant", async () => {
    for (const route of [messagesRoute, countTokens]) {
      const withMessage = (message: Body) => ({ messages: [message] });
      await expectAccepted(
        route,
        withMessage({ role: "user", content: [{ type: "text", text: "x", unknown: 1 }] }),
        {
          messages: [
            { role: "user", content: "x" },
            { role: "assistant", content: "y" },
          ],
        },
      );
      await expectRefused(
        route,
        ["messages[0].role", withMessage({ content: "x" })],
        ["messages[0].role", withMessage({ role: "system", content: "x" })],
        ["messages[0].content", withMessage({ role: "user" })],
        ["messages[0].content", withMessage({ role: "user", content: null })],
        ["messages[0].content[0].type", withMessage({ role: "user", content: [{ text: "x" }] })],
      );
    }
  });

  test("2.9 a message request is checked field by field", async () => {
    await expectAccepted(
      messagesRoute,
      { system: "be brief" },
      { system: [{ type: "text", text: "be brief" }] },
      { max_tokens: undefined },
      { temperature: 1, top_p: 0.5, top_k: 5 },
      { stop_sequences: ["a", "b", "c", "d", "e"] },
      { tools: [{ name: "f", input_schema: {} }], tool_choice: { type: "auto" } },
      { metadata: { user_id: "u" } },
      { unknown: { kept: true } },
    );
    await expectRefused(
      messagesRoute,
      ["model", { model: undefined }],
      ["messages", { messages: [] }],
      ["system", { system: 5 }],
      ["system[0].type", { system: [{}] }],
      ["max_tokens", { max_tokens: 0 }],
      ["stream", { stream: "x" }],
      ["temperature", { temperature: "x" }],
      ["top_p", { top_p: "x" }],
      ["top_k", { top_k: 1.5 }],
      ["stop_sequences", { stop_sequences: "x" }],
      ["tools", { tools: {} }],
      ["tool_choice", { tool_choice: "auto" }],
      ["metadata", { metadata: "x" }],
    );
  });

  test("2.10 a message response is the provider's, byte for byte", async () => {
    const text = await (await post(messagesRoute, messagesRoute.body)).text();
    expect(text).toBe(fixture("messages/text.json"));
    expectShape(messagesResponse, JSON.parse(text));
  });

  test("2.11 a token count request is checked, and its response has input_tokens and no other field", async () => {
    await expectAccepted(
      countTokens,
      { system: "x", tools: [{ name: "f", input_schema: {} }] },
      { unknown: 1 },
    );
    await expectRefused(
      countTokens,
      ["model", { model: "" }],
      ["messages", { messages: [] }],
      ["system", { system: 5 }],
      ["tools", { tools: {} }],
      ["tool_choice", { tool_choice: "auto" }],
    );
    expectShape(countTokensResponse, await (await post(countTokens, countTokens.body)).json());
  });

  test("2.12 the usage summary has all its fields and no other, in both modes", async () => {
    for (const key of world.both) {
      for (const { path, body } of generationRoutes) {
        await (await world.sluice.request(path, { key, body })).arrayBuffer();
      }
      const summary = (await (await world.sluice.request("/v1/usage", { key })).json()) as JsonObject;
      expectShape(usageSummary, summary);
      expect(summary).toMatchObject({ object: "usage.summary", key: { prefix: key.prefix, mode: key.mode } });
      expect(summary["explanation"]).toMatch(/\w/);
    }
  });
});
