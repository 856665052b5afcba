import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { contentOf } from "../gateway/batches/batch-world.ts";
import { openAiError } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** Files and both kinds of batches, as the official SDKs use them. */
let provider: ScriptedProvider;
let sluice: Sluice;
let keys: TestKey[];

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
  keys = [await sluice.createKey(), await sluice.createKey({ mode: "token_budget" })];
  for (const key of keys) {
    const isKnown = async () => (await sluice.request("/v1/usage", { key })).status === 200;
    await waitFor(isKnown, "the key to be known");
  }
}, 120_000);
afterEach(() => provider.reset());
afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const models = ["gpt-test", "claude-test", "local-test"];

describe.each(["credit", "token_budget"] as const)("with a key of the mode %s", (mode) => {
  const keyOf = () => keys.find((key) => key.mode === mode) as TestKey;
  const origin = () => sluice.url + (mode === "credit" ? "" : "/token");
  const openAi = () => new OpenAI({ baseURL: `${origin()}/v1`, apiKey: keyOf().key, maxRetries: 0 });

  test("OpenAI's SDK uploads, runs, lists, downloads and deletes", async () => {
    const client = openAi();
    const lines = models.map((model) => ({
      body: { model, messages: [{ role: "user", content: "Hello" }], max_tokens: 20 },
    }));
    const content = contentOf(lines, "/v1/chat/completions");
    const input = await client.files.create({
      file: await toFile(Buffer.from(content), "requests.jsonl"),
      purpose: "batch",
      expires_after: { anchor: "created_at", seconds: 3600 },
    });
    expect(input).toMatchObject({ bytes: content.length, filename: "requests.jsonl", purpose: "batch" });
    expect(input.expires_at).toBe(input.created_at + 3600);
    expect(await (await client.files.content(input.id)).text()).toBe(content);
    const created = await client.batches.create({
      input_file_id: input.id,
      endpoint: "/v1/chat/completions",
      completion_window: "24h",
      metadata: { purpose: "test" },
    });
    expect(created).toMatchObject({ input_file_id: input.id, metadata: { purpose: "test" } });
    let batch = created;
    await waitFor(async () => {
      batch = await client.batches.retrieve(created.id);
      return batch.status === "completed";
    }, "the batch to end");
    expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    const output = await (await client.files.content(batch.output_file_id ?? "")).text();
    const bodies = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).response.body as OpenAI.ChatCompletion);
    expect(bodies.map(({ object }) => object)).toEqual(Array(3).fill("chat.completion"));
    expect((await Array.fromAsync(client.batches.list({ limit: 1 }))).map(({ id }) => id)).toContain(
      batch.id,
    );
    const files = (await Array.fromAsync(client.files.list({ limit: 1 }))).map(({ id }) => id);
    expect(files).toEqual(expect.arrayContaining([input.id, batch.output_file_id ?? ""]));
    await client.files.delete(input.id);
    await client.files.delete(batch.output_file_id ?? "");
    expect(await client.files.retrieve(input.id).catch(({ status }) => status)).toBe(404);
    expect((await client.batches.retrieve(batch.id)).output_file_id).toBeNull();
    expect(await client.batches.cancel(batch.id).catch(({ status }) => status)).toBe(400);
  });

  test.each(["apiKey", "authToken"] as const)(
    "Anthropic's SDK creates, lists, reads and deletes message batches (%s)",
    async (credential) => {
      const none = { apiKey: null, authToken: null };
      const client = new Anthropic({ baseURL: origin(), ...none, [credential]: keyOf().key, maxRetries: 0 });
      const requests = [...models, "unknown"].map((model) => ({
        custom_id: `of-${model}`,
        params: { model, max_tokens: 20, messages: [{ role: "user" as const, content: "Hello" }] },
      }));
      const created = await client.messages.batches.create({ requests });
      expect(created).toMatchObject({ type: "message_batch", results_url: null });
      let batch = created;
      await waitFor(async () => {
        batch = await client.messages.batches.retrieve(created.id);
        return batch.processing_status === "ended";
      }, "the message batch to end");
      expect(batch.request_counts).toEqual({
        ...{ processing: 0, succeeded: 3, errored: 1, canceled: 0, expired: 0 },
      });
      expect(batch.results_url).toStartWith(`${origin()}/v1/messages/batches/${created.id}/`);
      const results = await Array.fromAsync(await client.messages.batches.results(created.id));
      expect(results.map(({ custom_id, result }) => `${custom_id} ${result.type}`)).toEqual([
        ...models.map((model) => `of-${model} succeeded`),
        "of-unknown errored",
      ]);
      for (const { result } of results.slice(0, 3)) {
        expect(result).toMatchObject({ message: { type: "message", role: "assistant" } });
      }
      expect(results[3]?.result).toMatchObject({
        error: { type: "error", error: { type: "not_found_error" } },
      });
      const listed = await Array.fromAsync(client.messages.batches.list({ limit: 1 }));
      expect(listed.map(({ id }) => id)).toContain(created.id);
      expect(await client.messages.batches.delete(created.id)).toEqual({
        ...{ id: created.id, type: "message_batch_deleted" },
      });
      expect(await client.messages.batches.retrieve(created.id).catch(({ status }) => status)).toBe(404);
    },
  );
});

test("a message batch is cancelled: what runs is charged, the rest is canceled", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
  const client = new Anthropic({ baseURL: sluice.url, apiKey: keys[0]?.key ?? "", authToken: null });
  const requests = Array.from({ length: 12 }, (_, place) => ({
    custom_id: `r${place}`,
    params: { model: "gpt-test", max_tokens: 20, messages: [{ role: "user" as const, content: "Hello" }] },
  }));
  const { id } = await client.messages.batches.create({ requests });
  await waitFor(() => provider.requests.length === 8, "lines to run");
  expect((await client.messages.batches.cancel(id)).processing_status).toBe("canceling");
  expect(await client.messages.batches.delete(id).catch(({ status }) => status)).toBe(400);
  resolve();
  let batch = await client.messages.batches.retrieve(id);
  await waitFor(async () => {
    batch = await client.messages.batches.retrieve(id);
    return batch.processing_status === "ended";
  }, "the message batch to end");
  expect(batch.request_counts).toMatchObject({ succeeded: 8, canceled: 4 });
  expect((await client.messages.batches.cancel(id)).processing_status).toBe("ended");
});

test.each([
  [{ requests: [] }, "requests"],
  [{}, "requests"],
  [{ requests: ["x"] }, "requests[0]"],
  [{ requests: [{ custom_id: "a b", params: {} }] }, "requests[0].custom_id"],
  [{ requests: [{ custom_id: "a" }] }, "requests[0].params"],
  [
    {
      requests: [
        { custom_id: "a", params: {} },
        { custom_id: "a", params: {} },
      ],
    },
    "requests[1].custom_id",
  ],
])("a malformed message batch is rejected, and nothing is left of it (%j)", async (body, named) => {
  provider.script(() => openAiError(500, "Nothing may run."));
  const key = keys[0] as TestKey;
  const response = await sluice.request("/v1/messages/batches", { key, body });
  const { error } = (await response.json()) as { error: { message: string } };
  expect(response.status).toBe(400);
  expect(error.message).toContain(named);
  expect(provider.requests).toEqual([]);
});
