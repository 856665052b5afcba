import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { Response } from "openai/resources/responses/responses";
import { ResponsesWS } from "openai/resources/responses/ws";
import { cutAfter, openAiError } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom, fixtureText } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;
let sluice: Sluice;
let keys: TestKey[];

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({
    config: configFor({ url: provider.url, head: "[server]\nanonymous_rpm = 100000" }),
  });
  keys = await Promise.all([sluice.createKey(), sluice.createKey({ mode: "token_budget" })]);
  for (const key of keys) {
    await waitFor(
      async () => (await sluice.request("/v1/usage", { key })).status === 200,
      "the keys to be known",
    );
  }
}, 120_000);

beforeEach(() => provider.reset());

afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const originOf = (key: TestKey) => sluice.url + (key.mode === "token_budget" ? "/token" : "");
const openAi = (key: TestKey, apiKey = key.key) =>
  new OpenAI({ baseURL: `${originOf(key)}/v1`, apiKey, maxRetries: 0 });
const anthropic = (key: TestKey, apiKey = key.key) =>
  new Anthropic({ baseURL: originOf(key), apiKey, maxRetries: 0, authToken: null });

const messages = [{ role: "user" as const, content: "Hello" }];
const weather = {
  name: "get_weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};

describe("the official openai client over WebSocket", () => {
  test("gets two responses on one socket, the second of which continues the first", async () => {
    for (const key of keys) {
      const socket = new ResponsesWS(openAi(key));
      const completed = async (fields: { input: string; previous_response_id?: string }) => {
        const ended = Promise.withResolvers<Response>();
        socket.once("response.completed", ({ response }) => ended.resolve(response));
        socket.once("error", ended.reject);
        socket.send({ type: "response.create", model: "claude-test", store: false, ...fields });
        return await ended.promise;
      };
      const first = await completed({ input: "Hello" });
      expect(JSON.stringify(first.output)).toContain(fixtureText);
      const second = await completed({ input: "Again", previous_response_id: first.id });
      expect(second.previous_response_id).toBe(first.id);
      expect(provider.requests.at(-1)?.text).toContain("Hello");
      socket.close();
    }
  });
});

describe("the official openai client", () => {
  test("lists models", async () => {
    for (const key of keys) {
      const ids = [];
      for await (const model of openAi(key).models.list()) ids.push(model.id);
      expect(ids).toContain("gpt-test");
    }
  });

  test("creates a chat completion", async () => {
    for (const key of keys) {
      const completion = await openAi(key).chat.completions.create({ model: "gpt-test", messages });
      expect(completion.choices[0]?.message.content).toBe(fixtureText);
      expect(completion.usage?.total_tokens).toBe(30);
    }
  });

  test("streams a chat completion, with its strict helper and usage", async () => {
    for (const key of keys) {
      const stream = openAi(key).chat.completions.stream({
        model: "gpt-test",
        messages,
        stream_options: { include_usage: true },
      });
      const final = await stream.finalChatCompletion();
      expect(final.choices[0]?.message.content).toBe(fixtureText);
      expect(final.usage?.completion_tokens).toBe(9);
    }
  });

  test("streams tool calls", async () => {
    provider.script(answerFrom("chat/tools.sse"));
    const [key] = keys as [TestKey];
    const stream = openAi(key).chat.completions.stream({
      model: "gpt-test",
      messages,
      tools: [{ type: "function", function: weather }],
    });
    const calls = (await stream.finalChatCompletion()).choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => call.type === "function" && call.function.name)).toEqual([
      "get_weather",
      "get_time",
    ]);
  });

  test("creates and streams a response, with its strict helper", async () => {
    for (const key of keys) {
      const created = await openAi(key).responses.create({ model: "gpt-test", input: "Hello" });
      expect(created.output_text).toBe(fixtureText);
      const final = await openAi(key).responses.stream({ model: "gpt-test", input: "Hello" }).finalResponse();
      expect(final.output_text).toBe(fixtureText);
      expect(final.usage?.total_tokens).toBe(30);
    }
  });

  test("gets errors as its typed exceptions, with the request's id", async () => {
    const [key] = keys as [TestKey];
    const failure = (client: OpenAI, model: string) =>
      client.chat.completions.create({ model, messages }).then(
        () => null,
        (error: unknown) => error,
      );
    const unauthorized = await failure(openAi(key, "slu_wrong"), "gpt-test");
    expect(unauthorized).toBeInstanceOf(OpenAI.AuthenticationError);
    const notFound = await failure(openAi(key), "none");
    expect(notFound).toBeInstanceOf(OpenAI.NotFoundError);
    expect(notFound).toMatchObject({ code: "model_not_found", type: "invalid_request_error" });
    expect((notFound as InstanceType<typeof OpenAI.APIError>).requestID).toMatch(/^req_/);
    const invalid = await openAi(key)
      .chat.completions.create({ model: "gpt-test", messages: [] })
      .catch((error: unknown) => error);
    expect(invalid).toBeInstanceOf(OpenAI.BadRequestError);
    expect(invalid).toMatchObject({ param: "messages" });
    provider.script(openAiError(500, "broken"));
    expect(await failure(openAi(key), "gpt-test")).toBeInstanceOf(OpenAI.InternalServerError);
  });

  test("aborts a stream, and the provider is left", async () => {
    provider.script(cutAfter(answerFrom("chat/text.sse"), 1500, [{ stall: true }]));
    const [key] = keys as [TestKey];
    const stream = await openAi(key).chat.completions.create({ model: "gpt-test", messages, stream: true });
    for await (const _ of stream) break;
    stream.controller.abort();
    await waitFor(() => provider.aborted.length === 1, "the provider to be left");
  });
});

describe("the official anthropic client", () => {
  test("lists models", async () => {
    for (const key of keys) {
      const ids = [];
      for await (const model of anthropic(key).models.list()) ids.push(model.id);
      expect(ids).toContain("claude-test");
    }
  });

  test("creates a message", async () => {
    for (const key of keys) {
      const message = await anthropic(key).messages.create({
        model: "claude-test",
        max_tokens: 100,
        messages,
      });
      expect(message.content).toEqual([{ type: "text", text: fixtureText } as never]);
      expect(message.usage.output_tokens).toBe(12);
    }
  });

  test("streams a message, thinking and tool calls, with its helper", async () => {
    for (const key of keys) {
      for (const [name, text] of [
        ["messages/text.sse", fixtureText],
        ["messages/thinking.sse", fixtureText],
        ["messages/tools.sse", "Let me look."],
      ] as const) {
        provider.script(answerFrom(name));
        const stream = anthropic(key).messages.stream({ model: "claude-test", max_tokens: 100, messages });
        const final = await stream.finalMessage();
        expect(final.content.flatMap((block) => (block.type === "text" ? [block.text] : []))).toEqual([text]);
      }
    }
  });

  test("counts tokens", async () => {
    for (const key of keys) {
      const count = await anthropic(key).messages.countTokens({ model: "claude-test", messages });
      expect(count.input_tokens).toBe(25);
    }
  });

  test("gets errors as its typed exceptions, with the request's id", async () => {
    const [key] = keys as [TestKey];
    const failure = (client: Anthropic, model: string) =>
      client.messages.create({ model, max_tokens: 10, messages }).then(
        () => null,
        (error: unknown) => error,
      );
    expect(await failure(anthropic(key, "slu_wrong"), "claude-test")).toBeInstanceOf(
      Anthropic.AuthenticationError,
    );
    const notFound = await failure(anthropic(key), "none");
    expect(notFound).toBeInstanceOf(Anthropic.NotFoundError);
    expect((notFound as InstanceType<typeof Anthropic.APIError>).requestID).toMatch(/^req_/);
    expect(await failure(anthropic(key), "")).toBeInstanceOf(Anthropic.BadRequestError);
    provider.script(openAiError(500, "broken"));
    expect(await failure(anthropic(key), "claude-test")).toBeInstanceOf(Anthropic.InternalServerError);
  });

  test("aborts a stream, and the provider is left", async () => {
    provider.script(cutAfter(answerFrom("messages/text.sse"), 1200, [{ stall: true }]));
    const [key] = keys as [TestKey];
    const stream = anthropic(key).messages.stream({ model: "claude-test", max_tokens: 100, messages });
    for await (const _ of stream) break;
    stream.abort();
    await waitFor(() => provider.aborted.length === 1, "the provider to be left");
  });
});
