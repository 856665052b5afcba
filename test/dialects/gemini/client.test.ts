import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { ApiError, GoogleGenAI } from "@google/genai";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { streamEvents } from "../../gateway/wire-answers.ts";
import { type Caller, World } from "../../gateway/world.ts";
import { delayed, json, openAiError, sse } from "../../support/answers.ts";
import { readStream } from "../../support/sse.ts";
import {
  chunkOf,
  geminiKeys,
  signatureOf,
  startFakeGemini,
  usageOf,
} from "../../vendors/gemini/fake-gemini.ts";

const fake = startFakeGemini();
const upstreamModel = "gemini-3.1-pro-preview";
const model = (id: string, provider: string, upstream: string) => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${upstream}"
context_window = 100000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0, cached_input = 0.1 }
capabilities = { tools = true }
`;
const spoken = (name: string) => `
[providers.as-${name}]
kind = "openai-compatible"
base_url = "PROVIDER_URL/v1"
dialects = ["${name}"]
${model(`on-${name}`, `as-${name}`, "up")}`;

const tail = `
[providers.gemini]
kind = "gemini"
base_url = "${fake.url}"
api_key = "env:TEST_GEMINI_KEY"
[providers.both]
kind = "openai-compatible"
base_url = "PROVIDER_URL/v1"
dialects = ["responses", "chat"]
${model("on-both", "both", "up")}
${model("house/on-gemini", "gemini", upstreamModel)}${spoken("chat")}${spoken("messages")}${spoken("responses")}`;

let world: World;
let caller: Caller;
let client: GoogleGenAI;
const contents = "What is it?";

beforeAll(async () => {
  world = await World.start({ tail });
}, 120_000);
beforeEach(async () => {
  fake.requests.length = 0;
  fake.say(null);
  world.provider.script(null);
  caller = await world.creditCaller();
  client = clientWith(caller.secret);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  fake.stop();
});

function clientWith(apiKey: string): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: world.running.url } });
}

describe("on Gemini", () => {
  test("a whole response has the provider's bytes, and its request the client's", async () => {
    const whole = await client.models.generateContent({ model: "house/on-gemini", contents });
    expect(whole.text).toBe("It is a lock.");
    expect(fake.requests[0]?.path).toBe(`/v1beta/models/${upstreamModel}:generateContent`);
    expect(JSON.stringify(fake.requests[0]?.body)).toBe(
      '{"contents":[{"parts":[{"text":"What is it?"}],"role":"user"}]}',
    );
    expect(await world.chargesOf(caller)).toMatchObject([{ basis: "measured", outcome: "completed" }]);
  });
  test("a stream is charged by what Gemini reports", async () => {
    let streamed = "";
    for await (const chunk of await client.models.generateContentStream({
      model: "house/on-gemini",
      contents,
    }))
      streamed += chunk.text ?? "";
    expect(streamed).toBe("It is a lock.");
    expect(await world.chargesOf(caller)).toMatchObject([{ basis: "measured", outcome: "completed" }]);
  });
  test("inputs are counted by Gemini, and models listed", async () => {
    expect((await client.models.countTokens({ model: "house/on-gemini", contents })).totalTokens).toBe(31);
    const names: string[] = [];
    for await (const each of await client.models.list()) names.push(each.name ?? "");
    expect(names).toContain("models/on-chat");
  });
  test("errors are thrown with their status", async () => {
    const error = await client.models
      .generateContent({ model: "nothing", contents })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error.status).toBe(404);
    const refused = await clientWith("sk-nothing")
      .models.generateContent({ model: "on-chat", contents })
      .catch((thrown) => thrown);
    expect(refused.message).toContain("API_KEY_INVALID");
  });
  test("both spellings of a field are refused", async () => {
    const body = {
      contents: [{ parts: [{ text: "x" }] }],
      generationConfig: { maxOutputTokens: 5 },
      generation_config: { maxOutputTokens: 4000 },
    };
    const response = await fetch(
      `${world.running.url}/v1beta/models/on-chat:generateContent?key=${caller.secret}`,
      { method: "POST", body: JSON.stringify(body) },
    );
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("two spellings");
  });
});

describe("on chat", () => {
  test("is answered whole and streamed", async () => {
    let text = "";
    const whole = await client.models.generateContent({ model: "on-chat", contents });
    expect(whole.text).not.toBe("");
    for await (const chunk of await client.models.generateContentStream({ model: "on-chat", contents }))
      text += chunk.text ?? "";
    expect(text).not.toBe("");
    expect(world.provider.requests.at(-1)?.body["messages"]).toEqual([{ role: "user", content: contents }]);
  });
});
test("a chat of Google's package keeps the history of a stream, in which every chunk has a part", async () => {
  const chat = client.chats.create({ model: "on-chat" });
  const chunks = await Array.fromAsync(await chat.sendMessageStream({ message: contents }));
  const said = chunks.map(({ text }) => text ?? "").join("");
  const kept = chat.getHistory(true).slice(1);
  expect(kept.flatMap(({ parts = [] }) => parts.map(({ text = "" }) => text)).join("")).toBe(said);
  expect(said).not.toBe("");
  expect(clientDialect("gemini").heartbeat(false, 0, "m")).toContain('"parts":[{"text":""}]');
});

test("stop sequences lead to the dialect that has them", async () => {
  for (const generationConfig of [{ stopSequences: ["END"] }, { stop_sequences: "END" }]) {
    expect((await ask("on-both:generateContent", { ...short, generationConfig })).status).toBe(200);
    expect(world.provider.requests.at(-1)).toMatchObject({
      path: "/v1/chat/completions",
      body: { stop: ["END"] },
    });
  }
});

test("a setting that is no number is named where it has to be translated", async () => {
  for (const [name, value] of [
    ["temperature", "0.5"],
    ["topK", true],
    ["thinkingBudget", "5"],
  ] as const) {
    const isThinking = name === "thinkingBudget";
    const generationConfig = isThinking ? { thinkingConfig: { [name]: value } } : { [name]: value };
    const response = await ask("on-chat:generateContent", { ...short, generationConfig });
    expect(response.status, name).toBe(400);
    expect(await response.text()).toContain(`${name}\` must be a number`);
  }
});

for (const name of ["messages", "responses"]) {
  test(`on ${name}, text is answered`, async () => {
    const whole = await client.models.generateContent({ model: `on-${name}`, contents });
    expect(whole.text).not.toBe("");
  });
}

const look = {
  name: "look",
  parametersJsonSchema: { type: "object", properties: { at: { type: "string" } } },
};

test("a tool loop on Gemini brings its own signature back", async () => {
  const chat = client.chats.create({
    model: "house/on-gemini",
    config: { tools: [{ functionDeclarations: [look] }] },
  });
  const first = await chat.sendMessage({ message: contents });
  const [call] = first.functionCalls ?? [];
  const second = await chat.sendMessage({
    message: [
      {
        functionResponse: {
          name: "look",
          ...(call?.id ? { id: call.id } : {}),
          response: { output: "blue" },
        },
      },
    ],
  });
  expect(second.text).toBe("It is blue.");
  expect(JSON.stringify(fake.requests.at(-1)?.body)).toContain(signatureOf(geminiKeys.first, upstreamModel));
});

test("Claude's thinking comes back to Claude through a Google client", async () => {
  const answers = [
    json({
      id: "m",
      type: "message",
      role: "assistant",
      model: "up",
      stop_reason: "tool_use",
      stop_sequence: null,
      content: [
        { type: "thinking", thinking: "Look first.", signature: "EqQB" },
        { type: "tool_use", id: "toolu_1", name: "look", input: { at: "it" } },
        { type: "tool_use", id: "toolu_2", name: "look", input: { at: "that" } },
      ],
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
    json({
      id: "m",
      type: "message",
      role: "assistant",
      model: "up",
      stop_reason: "end_turn",
      stop_sequence: null,
      content: [{ type: "text", text: "It is blue." }],
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  ];
  world.provider.script(answers);
  const chat = client.chats.create({
    model: "on-messages",
    config: { tools: [{ functionDeclarations: [look] }], thinkingConfig: { thinkingBudget: 2000 } },
  });
  const first = await chat.sendMessage({ message: contents });
  expect(first.functionCalls).toHaveLength(2);
  const second = await chat.sendMessage({
    message: [
      { functionResponse: { name: "look", response: { output: "blue" } } },
      { functionResponse: { name: "look", response: { output: "red" } } },
    ],
  });
  expect(second.text).toBe("It is blue.");
  const messages = world.provider.requests.at(-1)?.body["messages"];
  expect(messages).toMatchObject([
    { role: "user" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Look first.", signature: "EqQB" },
        { type: "tool_use", id: "toolu_1" },
        { type: "tool_use", id: "toolu_2" },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1" },
        { type: "tool_result", tool_use_id: "toolu_2" },
      ],
    },
  ]);
});

test("a stream of Gemini passes byte for byte, and its end waits for the charge", async () => {
  const frames = [
    chunkOf([{ text: "a" }], null),
    chunkOf([{ text: "b" }], usageOf(1, 2) as never, "STOP"),
    { usageMetadata: usageOf(1, 2) },
  ].map((each) => `data: ${JSON.stringify(each)}\r\n\r\n`);
  fake.say(sse(frames.join("")));
  const response = await fetch(
    `${world.running.url}/v1beta/models/house/on-gemini:streamGenerateContent?alt=sse`,
    {
      method: "POST",
      headers: { "x-goog-api-key": caller.secret },
      body: '{"contents":[{"parts":[{"text":"x"}]}]}',
    },
  );
  expect(response.status).toBe(200);
  expect(await response.text()).toBe(frames.join(""));
  expect(await world.chargesOf(caller)).toMatchObject([{ basis: "measured", outcome: "completed" }]);
});

test("an error in a stream breaks its body off", async () => {
  world.provider.script(
    sse(
      'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\ndata: {"error":{"message":"broken"}}\n\n',
    ),
  );
  const error = await (async () => {
    for await (const _ of await client.models.generateContentStream({ model: "on-chat", contents }));
  })().catch((thrown) => thrown);
  expect(error).toBeInstanceOf(Error);
});

test("Google's own search has no price: it is dropped alone, and named", async () => {
  const body = {
    contents: [{ parts: [{ text: "x" }] }],
    tools: [{ googleSearch: {}, functionDeclarations: [look] }],
  };
  const response = await ask("house/on-gemini:generateContent", body);
  expect(response.status).toBe(200);
  expect(response.headers.get("x-sluice-dropped")).toBe("tools.googleSearch");
  expect(fake.requests.at(-1)?.body).toEqual({ ...body, tools: [{ functionDeclarations: [look] }] });
});

function ask(
  method: string,
  body: object,
  headers: Record<string, string> = { "x-goog-api-key": caller.secret },
) {
  return fetch(`${world.running.url}/v1beta/models/${method}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
}

const short = { contents: [{ parts: [{ text: "x" }] }] };

test("one key is taken from the header, the query or as a bearer, and two different ones from nowhere", async () => {
  const bearer = { authorization: `Bearer ${caller.secret}` };
  expect((await ask("on-chat:generateContent", short, bearer)).status).toBe(200);
  expect((await ask(`on-chat:generateContent?key=${caller.secret}`, short, {})).status).toBe(200);
  expect((await ask("on-chat:generateContent?key=other", short)).status).toBe(401);
  expect((await ask("on-chat:generateContent?key=other", short, bearer)).status).toBe(401);
  expect((await ask(`on-chat:generateContent?key=${caller.secret}&key=other`, short, {})).status).toBe(401);
});

test("the same key in the header and the query is accepted only where the operator says so", async () => {
  const twice = () => ask(`on-chat:generateContent?key=${caller.secret}`, short);
  const refused = await twice();
  expect(refused.status).toBe(401);
  expect(await refused.text()).toContain("same key was sent twice");
  await world.reload((config) => `[server]\nsame_key_in_both_headers = "accept"\n${config}`);
  expect((await twice()).status).toBe(200);
  await world.reload((config) => config);
});

test.each(["on-chat", "house/on-gemini"])("without alt=sse a stream of %s is a JSON list", async (id) => {
  const response = await ask(`${id}:streamGenerateContent`, short);
  expect(response.headers.get("content-type")).toBe("application/json");
  const chunks = (await response.json()) as { candidates: { finishReason?: string }[] }[];
  expect(chunks.length).toBeGreaterThan(1);
  expect(chunks.at(-1)?.candidates[0]?.finishReason).toBe("STOP");
  expect(await world.chargesOf(caller)).toMatchObject([{ basis: "measured", outcome: "completed" }]);
});

test("a list replays as a list, ends with its error, and stays a list where nothing streams", async () => {
  const once = { "x-goog-api-key": caller.secret, "idempotency-key": "list" };
  const first = await (await ask("on-chat:streamGenerateContent", short, once)).text();
  expect(await (await ask("on-chat:streamGenerateContent", short, once)).text()).toBe(first);
  expect(await (await ask("on-chat:streamGenerateContent?alt=sse", short, once)).text()).toStartWith(
    "data: {",
  );
  const broken =
    'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\ndata: {"error":{"message":"x"}}\n\n';
  world.provider.script(sse(broken));
  let received = "";
  const reading = (async () => {
    const { body } = await ask("on-chat:streamGenerateContent", short);
    const decoder = new TextDecoder();
    for await (const piece of body ?? []) received += decoder.decode(piece);
  })();
  await reading.catch(() => {});
  expect(received).toMatch(/^\[\{"candidates".*,\r\n\{"error":\{"code":502/s);
});

test.each(["?alt=sse", ""])("an error%s ends the body within a second, and is read before", async (form) => {
  const half = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n';
  world.provider.script(sse(`${half}data: {"error":{"message":"broken"}}\n\n`));
  const startedMs = performance.now();
  const response = await ask(`on-chat:streamGenerateContent${form}`, short);
  let received = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) received += decoder.decode(piece);
  })();
  expect(await reading.catch((error) => error)).toBeInstanceOf(Error);
  expect(performance.now() - startedMs).toBeLessThan(1500);
  expect(received).toMatch(/"error":\{"code":502.*\}\}(?:\r\n\r\n)?$/s);
});

test("a list begins after the silence of a heartbeat, and ends with its answer or an error", async () => {
  await using slow = await World.start({ tail, head: "[server]\nheartbeat = 0.2\n" });
  const { secret } = await slow.creditCaller();
  const url = `${slow.running.url}/v1beta/models/on-chat:streamGenerateContent?key=${secret}`;
  const send = () => fetch(url, { method: "POST", body: JSON.stringify(short) });
  const spoken = streamEvents("chat", { text: "Fog." }).join("");
  slow.provider.script(delayed(sse(spoken), 700));
  const startedMs = performance.now();
  const response = await send();
  expect(performance.now() - startedMs).toBeLessThan(600);
  expect(response.headers.get("content-type")).toBe("application/json");
  const text = await response.text();
  expect(text).toMatch(/^\n\n+\[\{"candidates"/);
  expect(JSON.parse(text).at(-1)).toMatchObject({ candidates: [{ finishReason: "STOP" }] });
  slow.provider.script(delayed(openAiError(400, "No."), 500));
  const failed = await readStream(await send());
  expect(failed.text).toMatch(/^\n+\[\{"error":\{"code":400.*\}\}$/s);
  expect(failed.failure).not.toBeNull();
});

test("a list has the last event of a stream that lacks its blank line, and the head of its stream", async () => {
  const long = "word ".repeat(20_000);
  const frames = [chunkOf([{ text: long }], null), chunkOf([{ text: "b" }], usageOf(1, 2) as never, "STOP")];
  fake.say(sse(frames.map((each) => `data: ${JSON.stringify(each)}`).join("\r\n\r\n")));
  const once = { "x-goog-api-key": caller.secret, "idempotency-key": "long" };
  const body = { ...short, tools: [{ googleSearch: {}, functionDeclarations: [look] }] };
  const heads: (string | null)[] = [];
  for (const _ of ["first", "replayed"]) {
    const response = await ask("house/on-gemini:streamGenerateContent", body, once);
    heads.push(response.headers.get("idempotent-replayed"), response.headers.get("x-sluice-dropped"));
    expect(await response.json()).toEqual(frames);
  }
  expect(heads).toEqual([null, "tools.googleSearch", "true", null]);
});

test("a stream in which the model has failed says so", async () => {
  const frame = chunkOf([{ text: "a" }], usageOf(1, 2) as never, "MALFORMED_FUNCTION_CALL");
  fake.say(sse(`data: ${JSON.stringify(frame)}\r\n\r\n`));
  const response = await ask("house/on-gemini:streamGenerateContent?alt=sse", short);
  const { value } = (await response.body?.getReader().read()) ?? {};
  expect(new TextDecoder().decode(value)).toContain("MALFORMED_FUNCTION_CALL");
});

test.each([
  "v1beta/models/house%2Fon-gemini",
  "v1alpha/house%2Fon-gemini",
  "v1/models/house%2fon-gemini",
  "v1beta1/publishers%2Fhouse/models/on-gemini",
])("an encoded slash is one: %s", async (path) => {
  const headers = { "x-goog-api-key": caller.secret };
  const send = (method: string) =>
    fetch(`${world.running.url}/${path}${method}`, { method: "POST", headers, body: JSON.stringify(short) });
  expect((await send(":generateContent")).status).toBe(200);
  expect((await send("%2F..%2Fx:generateContent")).status).toBe(400);
});

test.each([
  ["/v1/projects/p/locations/us-central1/publishers/google/models/on-chat", "on-chat"],
  ["/v1beta1/publishers/house/models/on-gemini", "house/on-gemini"],
  ["/token/v1beta1/projects/p/locations/l/publishers/google/models/on-chat", null],
])("Vertex's path %s leads to %s", async (path, id) => {
  const response = await fetch(`${world.running.url}${path}:generateContent`, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.secret}` },
    body: JSON.stringify(short),
  });
  expect(response.status).toBe(id === null ? 401 : 200);
  await response.text();
  await world.settled();
  if (id !== null) expect(world.observed.at(-1)?.model).toBe(id);
});

test("an empty account and a rate limit say so as Google does", async () => {
  caller = await world.creditCaller(0);
  expect(await (await ask("on-chat:generateContent", short)).json()).toMatchObject({
    error: { code: 402, status: "FAILED_PRECONDITION", details: [{ reason: "INSUFFICIENT_CREDIT" }] },
  });
  caller = await world.creditCaller(10, { rpmLimit: 1 });
  await ask("on-chat:generateContent", short);
  const limited = await ask("on-chat:generateContent", short);
  const { error } = (await limited.json()) as { error: { details: { retryDelay?: string }[] } };
  expect(limited.status).toBe(429);
  expect(error.details.at(-1)?.retryDelay).toBe(`${limited.headers.get("retry-after")}s`);
});

test("the list of models has Google's format only for its clients, and only while the routes are on", async () => {
  const list = (headers: Record<string, string>) => fetch(`${world.running.url}/v1/models`, { headers });
  const google = { "x-goog-api-key": caller.secret };
  expect(await (await list(google)).json()).toHaveProperty("models");
  expect(await (await list({ authorization: `Bearer ${caller.secret}` })).json()).toHaveProperty("data");
  await world.reload((config) => `[routes]\ngemini = false\n${config}`);
  expect((await ask("on-chat:generateContent", short)).status).toBe(404);
  expect(await (await list({ ...google, authorization: `Bearer ${caller.secret}` })).json()).toHaveProperty(
    "data",
  );
  await world.reload((config) => config);
});
