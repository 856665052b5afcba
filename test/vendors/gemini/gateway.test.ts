import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { type Caller, World } from "../../gateway/world.ts";
import { type Answer, json, type Step, sse } from "../../support/answers.ts";
import type { SeenRequest } from "../../support/provider.ts";
import {
  called,
  chunkOf,
  geminiKeys,
  googleError,
  keyRefused,
  sentinel,
  signatureOf,
  startFakeGemini,
  streamOf,
  usageOf,
} from "./fake-gemini.ts";

const fake = startFakeGemini();
const upstreamModel = "gemini-3.1-pro-preview";

const provider = (name: string, rest: string) => `
[providers.${name}]
kind = "gemini"
base_url = "${fake.url}"
${rest}
[[models]]
id = "on-${name}"
provider = "${name}"
upstream_model = "${upstreamModel}"
context_window = 100000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0, cached_input = 0.1 }
capabilities = { tools = true }
`;

const tail = [
  provider("gemini", 'api_key = "env:TEST_GEMINI_KEY"\nsafety = "high"'),
  provider("elsewhere", 'api_key = "env:TEST_OTHER_GEMINI_KEY"\napi_version = "v1"'),
  // Without affinity the keys of a pool take turns.
  provider("pool", 'api_key = ["env:TEST_GEMINI_KEY", "env:TEST_OTHER_GEMINI_KEY"]').replace(
    "upstream_model",
    'affinity = "none"\nupstream_model',
  ),
  provider("long", 'api_key = "env:TEST_GEMINI_KEY"')
    .replace("context_window = 100000", "context_window = 1000000")
    .replace(
      " }\ncap",
      ", long_context = { above = 200000, input = 2.0, output = 3.0, cached_input = 0.2 } }\ncap",
    ),
].join("");

let world: World;
let caller: Caller;

beforeAll(async () => {
  world = await World.start({ tail });
}, 120_000);

beforeEach(async () => {
  fake.requests.length = 0;
  fake.say(null);
  caller = await world.creditCaller();
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  fake.stop();
});

const look = {
  name: "look",
  description: "Looks.",
  input_schema: { type: "object", properties: { at: { type: "string" } } },
};

interface Question {
  readonly model?: string;
  readonly messages?: readonly JsonObject[];
  readonly stream?: boolean;
  readonly tools?: readonly JsonObject[];
  readonly signal?: AbortSignal;
}

const question: JsonObject = { role: "user", content: "What is it?" };

function ask({
  model = "on-gemini",
  messages = [question],
  signal,
  ...rest
}: Question = {}): Promise<Response> {
  const body = { model, max_tokens: 1000, messages, ...rest };
  return world.ask(caller, { path: "/v1/messages", body, ...(signal === undefined ? {} : { signal }) });
}

async function answerTo(asked: Question): Promise<JsonObject> {
  const response = await ask(asked);
  const answer = (await response.json()) as JsonObject;
  expect(response.status, JSON.stringify(answer)).toBe(200);
  return answer;
}

/** The model's turn, and the results of the tools that it calls. */
function continued(messages: readonly JsonObject[], { content }: JsonObject): JsonObject[] {
  const calls = (content as JsonObject[]).filter((block) => block["type"] === "tool_use");
  const results = calls.map(
    ({ id }): JsonObject => ({ type: "tool_result", tool_use_id: id, content: "blue" }),
  );
  return [...messages, { role: "assistant", content }, { role: "user", content: results }];
}

function signaturesIn({ body }: SeenRequest): Json[] {
  const contents = body["contents"] as { parts: JsonObject[] }[];
  const calls = contents.flatMap(({ parts }) => parts.filter((part) => part["functionCall"] !== undefined));
  return calls.map((call) => call["thoughtSignature"] ?? null);
}

/** Nano-credits: input costs 1, cached input 0.1, output 2 USD per million tokens. */
function costOf(input: number, cached: number, output: number): number {
  return input * 1000 + cached * 100 + output * 2000;
}

async function charges() {
  const entries = await world.chargesOf(caller);
  return entries.map(({ amount, basis, outcome }) => ({ amount: Math.abs(amount), basis, outcome }));
}

describe("signatures (T03)", () => {
  const own = signatureOf(geminiKeys.first, upstreamModel);

  test("come back through a client that replays thinking, streamed or whole (G30, G40)", async () => {
    const first = await answerTo({ tools: [look] });
    const second = await answerTo({ tools: [look], messages: continued([question], first) });
    expect(second["content"]).toEqual([{ type: "text", text: "It is blue." }]);
    expect(signaturesIn(fake.requests[1] as SeenRequest)).toEqual([own]);
    expect(fake.requests).toHaveLength(2);
  });

  test("stay where they are valid when the conversation goes elsewhere and comes back (G30, G38)", async () => {
    const first = await answerTo({ tools: [look] });
    const begun = continued([question], first);
    await answerTo({ model: "on-elsewhere", tools: [look], messages: begun });
    expect(fake.requests[1]?.path).toBe(`/v1/models/${upstreamModel}:generateContent`);
    await answerTo({ tools: [look], messages: begun });
    expect(fake.requests.slice(1).map(signaturesIn)).toEqual([[sentinel], [own]]);
  });

  test("of each are kept apart when Gemini, Claude and Gemini again work on one turn (T03)", async () => {
    const first = await answerTo({ tools: [look] });
    const begun = continued([question], first);
    const thinking = { type: "thinking", thinking: "Hm.", signature: "of-claude" };
    const call = { type: "tool_use", id: "toolu_1", name: "look", input: { at: "sky" } };
    const usage = { input_tokens: 10, output_tokens: 5 };
    const head = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude",
      stop_sequence: null,
      usage,
    };
    world.provider.script(json({ ...head, content: [thinking, call], stop_reason: "tool_use" }));
    const second = await answerTo({ model: "claude-test", tools: [look], messages: begun });
    expect(world.provider.requests.at(-1)?.text).toContain('"tool_use"');
    expect(world.provider.requests.at(-1)?.text).not.toContain("slu1.");
    const third = await answerTo({ tools: [look], messages: continued(begun, second) });
    expect(third["content"]).toEqual([{ type: "text", text: "It is blue." }]);
    expect(signaturesIn(fake.requests[1] as SeenRequest)).toEqual([own, sentinel]);
    expect(fake.requests[1]?.text).not.toContain("of-claude");
    world.provider.script(
      json({ ...head, content: [{ type: "text", text: "Yes." }], stop_reason: "end_turn" }),
    );
    await answerTo({ model: "claude-test", tools: [look], messages: continued(begun, second) });
    expect(world.provider.requests.at(-1)?.text).toContain("of-claude");
    world.provider.reset();
  });

  test("are left out, once, if another key of the pool does not know them (G30, G38)", async () => {
    const first = await answerTo({ model: "on-pool", tools: [look] });
    const second = await answerTo({
      model: "on-pool",
      tools: [look],
      messages: continued([question], first),
    });
    expect(second["content"]).toEqual([{ type: "text", text: "It is blue." }]);
    const sent = fake.requests.slice(1).map(signaturesIn);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual([sentinel]);
    expect((await charges()).map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
  });

  test("a refusal that is not about proofs is not tried again", async () => {
    const first = await answerTo({ tools: [look] });
    fake.say(googleError(400, "INVALID_ARGUMENT", "Something else is invalid."));
    const response = await ask({ tools: [look], messages: continued([question], first) });
    expect(response.status).toBe(400);
    expect(fake.requests).toHaveLength(2);
  });
});

describe("calls (T02)", () => {
  /** Gemini before 3 gives calls no ids. */
  const unnamed = (name: string) => ({ functionCall: { name, args: { at: "sea" } } });

  test("of one name and without ids are two calls, whose results come back in their order (T02)", async () => {
    fake.say(json(chunkOf([unnamed("look"), unnamed("look")], usageOf(10, 5), "STOP")));
    const first = await answerTo({ tools: [look] });
    const [one, other] = (first["content"] as JsonObject[]).map(({ id }) => id);
    expect(one).not.toBe(other);
    fake.say(null);
    const results = [other, one].map((id) => ({ type: "tool_result", tool_use_id: id, content: `of ${id}` }));
    const messages = [
      question,
      { role: "assistant", content: first["content"] },
      { role: "user", content: results },
    ];
    await answerTo({ tools: [look], messages: messages as JsonObject[] });
    const contents = fake.requests[1]?.body["contents"] as { parts: { functionResponse?: JsonObject }[] }[];
    const answered = contents[2]?.parts.map(({ functionResponse }) => functionResponse);
    expect(answered).toEqual(
      [one, other].map((id) => ({ name: "look", response: { output: `of ${id}` }, id: id as string })),
    );
  });

  test("of three steps have three signatures (T02)", async () => {
    let messages: JsonObject[] = [question];
    for (const step of [1, 2, 3]) {
      fake.say(
        json(
          chunkOf(
            [called(`step_${step}`, signatureOf(geminiKeys.first, upstreamModel))],
            usageOf(10, 5),
            "STOP",
          ),
        ),
      );
      messages = continued(messages, await answerTo({ tools: [look], messages }));
    }
    fake.say(null);
    await answerTo({ tools: [look], messages });
    expect(signaturesIn(fake.requests[3] as SeenRequest)).toEqual(
      Array.from({ length: 3 }, () => signatureOf(geminiKeys.first, upstreamModel)),
    );
  });
});

describe("settings", () => {
  test("the safety of the configuration is said for the four categories, and nothing if there is none (G33)", async () => {
    await answerTo({});
    await answerTo({ model: "on-elsewhere" });
    const settings = fake.requests.map(({ body }) => body["safetySettings"]);
    const categories = ["HATE_SPEECH", "DANGEROUS_CONTENT", "HARASSMENT", "SEXUALLY_EXPLICIT"];
    expect(settings).toEqual([
      categories.map((category) => ({ category: `HARM_CATEGORY_${category}`, threshold: "BLOCK_ONLY_HIGH" })),
      undefined,
    ] as Json[]);
  });

  test("a large request is translated like any other", async () => {
    const text = "Water finds its level. ".repeat(60_000);
    await answerTo({ model: "on-long", messages: [{ role: "user", content: text }] });
    expect(fake.requests[0]?.body["contents"]).toEqual([{ role: "user", parts: [{ text }] }]);
    const body = { model: "on-long", messages: [{ role: "user", content: text }] };
    const response = await world.ask(caller, { path: "/v1/messages/count_tokens", body });
    expect(response.headers.get("x-sluice-count")).toBe("estimate");
    expect(fake.requests).toHaveLength(1);
  });

  test("the key is a header, never in the address, and nothing of the client's goes along (G01)", async () => {
    await answerTo({});
    expect(fake.requests[0]?.headers["x-goog-api-key"]).toBe(geminiKeys.first);
    expect(JSON.stringify(fake.requests[0]?.headers)).not.toContain(caller.secret);
    expect(fake.requests[0]?.path).toBe(`/v1beta/models/${upstreamModel}:generateContent`);
  });

  test("tokens are counted by Google, instructions and tools included (G68)", async () => {
    const body = { model: "on-gemini", system: "Be brief.", tools: [look], messages: [question] };
    const response = await world.ask(caller, { path: "/v1/messages/count_tokens", body });
    expect(await response.json()).toEqual({ input_tokens: 31 });
    expect(response.headers.get("x-sluice-count")).toBe("exact");
    const [request] = fake.requests;
    expect(request?.path).toBe(`/v1beta/models/${upstreamModel}:countTokens`);
    expect(request?.body["generateContentRequest"]).toMatchObject({
      model: `models/${upstreamModel}`,
      systemInstruction: { parts: [{ text: "Be brief." }] },
      tools: [{ functionDeclarations: [{ name: "look" }] }],
    });
    expect(await charges()).toEqual([]);
  });

  test("what Google cannot be told is counted here (G68)", async () => {
    const image = { type: "image", source: { type: "url", url: "https://example.com/without-extension" } };
    const messages = [{ role: "user", content: [image, { type: "text", text: "What is it?" }] }];
    const body = { model: "on-gemini", messages };
    const response = await world.ask(caller, { path: "/v1/messages/count_tokens", body });
    expect(response.headers.get("x-sluice-count")).toBe("estimate");
    expect(fake.requests).toEqual([]);
  });
});

describe("refusals (T05)", () => {
  test("a key that Google does not know is left for another of the pool (G62)", async () => {
    fake.say([keyRefused(400), json(chunkOf([{ text: "Hi" }], usageOf(3, 1), "STOP"))]);
    const answer = await answerTo({ model: "on-pool" });
    expect(answer["content"]).toEqual([{ type: "text", text: "Hi" }]);
    expect(new Set(fake.requests.map(({ headers }) => headers["x-goog-api-key"])).size).toBe(2);
  });

  test("the client is told how long Google wants to be left alone (G66)", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" }];
    fake.say(googleError(429, "RESOURCE_EXHAUSTED", "Quota exceeded for projects/canary.", details));
    const response = await ask({ model: "on-elsewhere" });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("35");
    expect(await response.text()).not.toContain("canary");
    expect(await charges()).toEqual([]);
  });

  test("an error as the only thing in a stream has a status of its own, as an event or bare (G59)", async () => {
    const error = { error: { code: 500, message: "An internal error has occurred.", status: "INTERNAL" } };
    for (const text of [`data: ${JSON.stringify(error)}\n\n`, JSON.stringify([error], null, 2)]) {
      fake.say(sse(text));
      const response = await ask({ stream: true });
      expect(response.status).toBe(502);
      expect(await response.text()).toContain("An internal error has occurred.");
    }
    expect(await charges()).toEqual([]);
  });
});

/** Waits until the client has seen this, and what comes after. */
async function readUntil(response: Response, needle: string): Promise<() => Promise<string>> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(needle)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended before ${needle}: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  return async () => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      text += decoder.decode(piece.value);
    return text;
  };
}

function stepsOf(...steps: readonly Step[]): Answer {
  return { ...sse(""), steps };
}

describe("money (T04, T06)", () => {
  const begun = streamOf([
    chunkOf([{ text: "One " }], usageOf(100, 3, 20, { cachedContentTokenCount: 40 })),
    chunkOf([{ text: "two " }], usageOf(100, 5, 20, { cachedContentTokenCount: 40 })),
  ]);
  const soFar = costOf(60, 40, 25);

  test("the last figures are charged, cached input and thoughts by their price (G52, G53)", async () => {
    const last = chunkOf([{ text: "three" }], usageOf(100, 9, 20, { cachedContentTokenCount: 40 }), "STOP");
    fake.say(sse(begun + streamOf([last])));
    await (await ask({ stream: true })).text();
    expect(await charges()).toEqual([
      { amount: costOf(60, 40, 29), basis: "measured", outcome: "completed" },
    ]);
  });

  test("a client that leaves pays for what Google has reported so far, exactly (G54)", async () => {
    fake.say(stepsOf({ write: begun }, { stall: true }));
    const leaving = new AbortController();
    await readUntil(await ask({ stream: true, signal: leaving.signal }), "two ");
    leaving.abort();
    expect(await charges()).toEqual([{ amount: soFar, basis: "measured", outcome: "cancelled" }]);
  });

  test("so does one who leaves while the model thinks without showing it (G54)", async () => {
    fake.say(stepsOf({ write: streamOf([chunkOf([], usageOf(100, 0, 20))]) }, { stall: true }));
    const leaving = new AbortController();
    await readUntil(await ask({ stream: true, signal: leaving.signal }), "message_start");
    leaving.abort();
    expect(await charges()).toEqual([
      { amount: costOf(100, 0, 20), basis: "measured", outcome: "cancelled" },
    ]);
  });

  test("a stream that is cut off is charged exactly too, and never looks finished (G54, G56)", async () => {
    fake.say(sse(begun));
    const text = await (await ask({ stream: true })).text();
    expect(text).toContain("ended before the response was complete");
    expect(text).not.toContain("message_stop");
    expect(await charges()).toEqual([{ amount: soFar, basis: "measured", outcome: "failed" }]);
  });

  test("text behind the last figures is counted here (G53, G54)", async () => {
    const more = chunkOf([{ text: "and a good deal more of it that was not counted" }], {
      trafficType: "ON_DEMAND",
    });
    fake.say(sse(begun + streamOf([more])));
    await (await ask({ stream: true })).text();
    expect(await charges()).toEqual([{ amount: soFar, basis: "estimated", outcome: "failed" }]);
  });

  test("a blocked prompt is charged for its input, whole or streamed (G48)", async () => {
    const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: usageOf(100, 0) };
    fake.say(json(blocked));
    expect(await answerTo({})).toMatchObject({ stop_reason: "refusal", content: [] });
    fake.say(sse(streamOf([blocked])));
    expect(await (await ask({ stream: true })).text()).toContain("message_stop");
    const once = { amount: costOf(100, 0, 0), basis: "measured", outcome: "completed" } as const;
    expect(await charges()).toEqual([once, once]);
  });

  test("a prompt above 200,000 tokens has its own price, cached or not (G55)", async () => {
    for (const prompt of [200_000, 200_001]) {
      fake.say(
        json(chunkOf([{ text: "Hi" }], usageOf(prompt, 10, 0, { cachedContentTokenCount: 50_000 }), "STOP")),
      );
      await answerTo({ model: "on-long" });
    }
    const amounts = (await charges()).map(({ amount }) => amount);
    expect(amounts).toEqual([costOf(150_000, 50_000, 10), 150_001 * 2000 + 50_000 * 200 + 10 * 3000]);
  });

  test("thoughts that have used up the limit are charged, and the answer is complete (G44)", async () => {
    fake.say(json(chunkOf([], usageOf(100, 0, 900), "MAX_TOKENS")));
    expect(await answerTo({})).toMatchObject({ stop_reason: "max_tokens", content: [] });
    expect(await charges()).toEqual([
      { amount: costOf(100, 0, 900), basis: "measured", outcome: "completed" },
    ]);
  });

  test.each([false, true])(
    "G47: a malformed call is an error that is charged by its figures (streamed: %p)",
    async (stream) => {
      const failed = chunkOf([], usageOf(100, 0, 30), "MALFORMED_FUNCTION_CALL");
      fake.say(stream ? sse(streamOf([failed])) : json(failed));
      const response = await ask({ stream, tools: [look] });
      expect(response.status).toBe(502);
      const text = await response.text();
      expect(text).toContain("MALFORMED_FUNCTION_CALL");
      expect(text).not.toContain("message_stop");
      expect(await charges()).toEqual([{ amount: costOf(100, 0, 30), basis: "measured", outcome: "failed" }]);
      expect(fake.requests).toHaveLength(1);
    },
  );

  test("behind content it is an error within the stream (G47)", async () => {
    const begun = chunkOf([{ text: "I will " }], usageOf(100, 2, 0));
    fake.say(sse(streamOf([begun, chunkOf([], usageOf(100, 2, 30), "MALFORMED_FUNCTION_CALL")])));
    const response = await ask({ stream: true, tools: [look] });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("MALFORMED_FUNCTION_CALL");
    expect(await charges()).toEqual([{ amount: costOf(100, 0, 32), basis: "measured", outcome: "failed" }]);
  });

  test("as the only frame, without figures, it is asked for once more and then told with a status (G47)", async () => {
    fake.say(sse(streamOf([chunkOf([{ text: "" }], null, "MALFORMED_FUNCTION_CALL")])));
    const response = await ask({ stream: true, tools: [look] });
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("MALFORMED_FUNCTION_CALL");
    expect(fake.requests).toHaveLength(2);
    expect(await charges()).toEqual([]);
  });

  test("without figures nothing is charged for it (G47)", async () => {
    fake.say(json(chunkOf([], null, "MALFORMED_FUNCTION_CALL")));
    expect((await ask({ tools: [look] })).status).toBe(502);
    expect(await charges()).toEqual([]);
  });

  test("a stream that was not asked for is collected, and one that was not given is made", async () => {
    const parts = [called("look", signatureOf(geminiKeys.first, upstreamModel))];
    fake.say(sse(streamOf([chunkOf(parts, usageOf(10, 4)), chunkOf([], usageOf(10, 5), "STOP")])));
    const collected = await answerTo({ tools: [look] });
    expect(collected).toMatchObject({
      stop_reason: "tool_use",
      usage: { input_tokens: 10, output_tokens: 5 },
    });
    fake.say(json(chunkOf(parts, usageOf(10, 5), "STOP")));
    const made = await (await ask({ stream: true, tools: [look] })).text();
    expect(made).toContain("signature_delta");
    expect(made).toContain("message_stop");
    const once = { amount: costOf(10, 0, 5), basis: "measured", outcome: "completed" } as const;
    expect(await charges()).toEqual([once, once]);
  });
});
