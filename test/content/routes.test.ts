import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { ContentDocument } from "../../src/content/document.ts";
import { hello, paths, streamAnswer, usageOf, wholeAnswer } from "../gateway/wire-answers.ts";
import { type Caller, World } from "../gateway/world.ts";
import { json, sse, text } from "../support/answers.ts";
import { SocketClient } from "../support/socket.ts";

const tail = `
[[models]]
id = "embed"
provider = "openai"
serves = ["embeddings"]
price = { input = 0.1 }
[[models]]
id = "say"
provider = "openai"
serves = ["speech"]
price = { characters = 15.0 }
[[models]]
id = "hear"
provider = "openai"
serves = ["transcriptions"]
price = { audio_minutes = 0.006 }
[[models]]
id = "legacy"
provider = "openai"
serves = ["completions"]
price = { input = 1.0, output = 2.0 }
[content]
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** What was recorded of each request of a key, the oldest first. */
async function recordedFor({ key }: Caller): Promise<ContentDocument[]> {
  await world.settled();
  const recorder = world.gateway.content;
  const rows = (await recorder?.list({ limit: 100, keyIds: [key.id] })) ?? [];
  const documents = await Promise.all(rows.map(({ id }) => recorder?.read(id)));
  return documents
    .map((document) => JSON.parse(Buffer.from(document?.json ?? "").toString()) as ContentDocument)
    .toReversed();
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("embeddings are recorded with their input, and without the vectors", async () => {
  caller = await world.creditCaller();
  const vector = Array.from({ length: 8 }, (_, place) => place / 8);
  const data = [{ object: "embedding", index: 0, embedding: vector }];
  world.provider.script(
    json({ object: "list", model: "up", data, usage: { prompt_tokens: 3, total_tokens: 3 } }),
  );
  const response = await world.ask(caller, {
    path: "/v1/embeddings",
    body: { model: "embed", input: "a canal" },
  });
  expect(response.headers.get("x-sluice-content")).toBe("recorded");
  await response.text();
  const [document] = await recordedFor(caller);
  expect(document?.request).toEqual({ model: "embed", input: "a canal" });
  const bytes = new Uint8Array(Float32Array.from(vector).buffer);
  expect(document?.response).toMatchObject({
    data: [{ index: 0, embedding: { type: "vector/float32", bytes: 32, sha256: sha256(bytes) } }],
  });
});

test.each(["embedContent", "batchEmbedContents"])(
  "vectors of Google's %s are not recorded",
  async (method) => {
    caller = await world.creditCaller();
    const vector = Array.from({ length: 8 }, (_, place) => place / 8);
    const data = [{ object: "embedding", index: 0, embedding: vector }];
    world.provider.script(
      json({ object: "list", model: "up", data, usage: { prompt_tokens: 3, total_tokens: 3 } }),
    );
    const isOne = method === "embedContent";
    const one = { content: { parts: [{ text: "a canal" }] } };
    const body = isOne ? one : { requests: [{ model: "models/embed", ...one }] };
    await (await world.ask(caller, { path: `/v1beta/models/embed:${method}`, body })).text();
    const [document] = await recordedFor(caller);
    expect(document?.request).toMatchObject(body);
    const bytes = new Uint8Array(Float32Array.from(vector).buffer);
    const digest = { values: { type: "vector/float32", bytes: 32, sha256: sha256(bytes) } };
    expect(document?.response).toMatchObject(isOne ? { embedding: digest } : { embeddings: [digest] });
  },
);

test("speech is recorded as its text, and the type, size and digest of the sound", async () => {
  caller = await world.creditCaller();
  world.provider.script(text("some sound", "audio/mpeg"));
  const body = { model: "say", input: "hello", voice: "alloy" };
  await (await world.ask(caller, { path: "/v1/audio/speech", body })).bytes();
  const [document] = await recordedFor(caller);
  expect(document?.request).toEqual(body);
  expect(document?.response).toEqual({
    type: "audio/mpeg",
    bytes: 10,
    sha256: sha256(Buffer.from("some sound")),
  });
});

test("a form is recorded with its fields, its files as digests, and its response as text", async () => {
  caller = await world.creditCaller();
  world.provider.script(json({ text: "what was heard", usage: { type: "duration", seconds: 1 } }));
  const form = new FormData();
  form.set("model", "hear");
  form.set("language", "en");
  form.set("file", new File([new Uint8Array(400)], "a.wav", { type: "audio/wav" }));
  const response = await fetch(`${world.running.url}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.secret}` },
    body: form,
  });
  expect(response.status).toBe(200);
  await response.text();
  const [document] = await recordedFor(caller);
  expect(document?.request).toEqual({
    model: "hear",
    language: "en",
    file: { type: "audio/wav", bytes: 400, sha256: sha256(new Uint8Array(400)) },
  });
  expect(document?.response).toMatchObject({ text: "what was heard" });
});

test("a streamed completion is joined", async () => {
  caller = await world.creditCaller();
  const event = (choice: object, more = {}) =>
    `data: ${JSON.stringify({ id: "c", object: "text_completion", created: 1, model: "up", choices: [{ index: 0, ...choice }], ...more })}\n\n`;
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  world.provider.script(
    sse(
      `${event({ text: "one " })}${event({ text: "two", finish_reason: "stop" }, { usage })}data: [DONE]\n\n`,
    ),
  );
  const body = { model: "legacy", prompt: "count", max_tokens: 5, stream: true };
  await (await world.ask(caller, { path: "/v1/completions", body })).text();
  const [document] = await recordedFor(caller);
  expect(document?.response).toMatchObject({
    object: "text_completion",
    choices: [{ index: 0, text: "one two", finish_reason: "stop" }],
  });
});

test("each turn over a socket is a request with its own id", async () => {
  caller = await world.creditCaller();
  using socket = await SocketClient.open(world.running.url, caller.secret);
  for (const [said, answered] of [
    ["first", "one"],
    ["second", "two"],
  ] as const) {
    world.provider.script(streamAnswer("responses", { text: answered, usage: usageOf("responses", 3, 1) }));
    await socket.ask({ model: "gpt-test", input: said, store: false });
  }
  const documents = await recordedFor(caller);
  expect(documents.map(({ request }) => (request as { input: string }).input)).toEqual(["first", "second"]);
  expect(new Set(documents.map(({ id }) => id)).size).toBe(2);
  expect(JSON.stringify(documents[1]?.response)).toContain('"two"');
});

test("a turn that continues another is recorded as what was sent, and a replay not again", async () => {
  caller = await world.creditCaller();
  world.provider.script(wholeAnswer("responses", { text: "one", usage: usageOf("responses", 3, 1) }));
  const first = await world.ask(caller, { path: paths.responses, body: hello("responses", "gpt-test") });
  const { id } = (await first.json()) as { id: string };
  const body = { model: "gpt-test", input: "and then?", previous_response_id: id };
  const headers = { "idempotency-key": "again" };
  for (let time = 0; time < 2; time += 1) {
    world.provider.script(wholeAnswer("responses", { text: "two", usage: usageOf("responses", 9, 1) }));
    const response = await world.ask(caller, { path: paths.responses, body, headers });
    expect(response.status).toBe(200);
    await response.text();
  }
  const documents = await recordedFor(caller);
  expect(documents.map(({ request }) => request)).toEqual([hello("responses", "gpt-test"), body] as never);
});

test("counting tokens, and lists, are not recorded", async () => {
  caller = await world.creditCaller();
  const response = await world.ask(caller, {
    path: "/v1/messages/count_tokens",
    body: hello("messages", "claude-test"),
  });
  expect(response.headers.get("x-sluice-content")).toBeNull();
  await response.text();
  expect(await recordedFor(caller)).toEqual([]);
});
