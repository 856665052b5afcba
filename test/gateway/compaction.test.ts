import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/base/json.ts";
import { type Answer, json, sse } from "../support/answers.ts";
import { heldInput } from "../support/estimated.ts";
import { newFolder } from "../support/new-folder.ts";
import { readStream } from "../support/sse.ts";
import { encodeChunk } from "../vendors/bedrock/encode-message.ts";
import { eventStream } from "../vendors/bedrock/fake-bedrock.ts";
import { keyFile, startFakeVertex } from "../vendors/vertex/fake-vertex.ts";
import { type Caller, World } from "./world.ts";

/** Anthropic reports compaction runs separately: the response's own usage does not include them. */

const vertex = startFakeVertex();
const folder = newFolder();
writeFileSync(join(folder, "sa.json"), keyFile(vertex.tokenUri));

const price = `{ input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25, cache_write_1h = 2.0,
  long_context = { above = 200000, input = 10.0, output = 20.0 }, web_search = 10.0, tiers = { fast = { input = 3.0, output = 6.0 } } }`;

const model = (id: string, provider: string, upstream: string) => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${upstream}"
context_window = 1000000
max_output_tokens = 1000
price = ${price.replaceAll("\n", " ")}
`;

const tail = `
[providers.vertex]
kind = "vertex"
base_url = "${vertex.url}"
location = "europe-west1"
credentials = "file:${folder}/sa.json"

[providers.bedrock]
kind = "bedrock"
region = "eu-canary-1"
base_url = "PROVIDER_URL"
api_key = "env:TEST_BEDROCK_KEY"

${model("claude", "anthropic", "claude-upstream")}
${model("claude-dear", "anthropic", "claude-dear").replaceAll(".0", "00.0")}
${model("claude-vertex", "vertex", "claude-sonnet-4-6@20260101")}
${model("claude-bedrock", "bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0")}
`;

let world: World;
beforeAll(async () => {
  world = await World.start({ tail });
});
afterEach(() => {
  world.provider.reset();
  vertex.problem = null;
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  vertex.stop();
  rmSync(folder, { recursive: true, force: true });
});

const head = { id: "msg_1", type: "message", role: "assistant", model: "up", stop_sequence: null };
const text = { type: "text", text: "Hi" };
const summary = { type: "compaction", content: "They greeted each other." };

function wholeOf(usage: JsonObject, block: JsonObject = text): JsonObject {
  return { ...head, stop_reason: "end_turn", content: [block], usage };
}

function eventsOf(first: JsonObject, last: JsonObject, block: JsonObject = text): JsonObject[] {
  return [
    { type: "message_start", message: { ...head, content: [], stop_reason: null, usage: first } },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: last },
    { type: "message_stop" },
  ];
}

function streamed(events: readonly JsonObject[]): Answer {
  return sse(events.map((event) => `event: ${event["type"]}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

const hello = { max_tokens: 1000, messages: [{ role: "user", content: "Hello" }] };
const byThreshold = { context_management: { edits: [{ type: "compact_20260112" }] } };

async function ask(caller: Caller, id: string, more: JsonObject): Promise<Response> {
  return world.ask(caller, { path: "/v1/messages", body: { model: id, ...hello, ...more } });
}

/** What a call costs in millionths of a credit, and the tokens that are recorded for it. */
async function chargeFor(id: string, more: JsonObject, answer: Answer) {
  const caller = await world.creditCaller();
  world.provider.script(answer);
  vertex.problem = answer;
  const response = await ask(caller, id, more);
  expect(response.status).toBe(200);
  expect((await readStream(response)).failure).toBeNull();
  const charges = await world.chargesOf(caller);
  expect(charges.map(({ basis, outcome }) => [basis, outcome])).toEqual([["measured", "completed"]]);
  return { micros: -(charges[0]?.amount ?? 0) / 1000, usage: world.observed.at(-1)?.usage };
}

const message = { type: "message", input_tokens: 23_000, output_tokens: 100 };
const compaction = { type: "compaction", input_tokens: 180_000, output_tokens: 3_500 };
/** Together above the limit of a long context, and each below it. */
const usage = { input_tokens: 23_000, output_tokens: 100, iterations: [compaction, message] };
const micros = 23_000 + 200 + 180_000 + 7_000;

const forms: readonly (readonly [string, string, (usage: JsonObject) => [JsonObject, Answer]])[] = [
  ["whole", "claude", (told) => [{}, json(wholeOf(told))]],
  ["whole", "claude-vertex", (told) => [{}, json(wholeOf(told))]],
  ["whole", "claude-bedrock", (told) => [{}, json(wholeOf(told))]],
  ["streamed", "claude", (told) => [{ stream: true }, streamed(eventsOf(first, told))]],
  ["streamed", "claude-vertex", (told) => [{ stream: true }, streamed(eventsOf(first, told))]],
  [
    "streamed",
    "claude-bedrock",
    (told) => [{ stream: true }, eventStream(...eventsOf(first, told).map(encodeChunk))],
  ],
];

/** Before the answer there is nothing to compact. */
const first = { input_tokens: 23_000, output_tokens: 1 };

describe.each(forms)("a conversation that is compacted before it is answered, %s by %s", (_, id, form) => {
  test("costs both runs, each by its own length", async () => {
    const [more, answer] = form(usage);
    const charge = await chargeFor(id, { ...byThreshold, ...more }, answer);
    expect(charge.micros).toBe(micros);
    expect(charge.usage).toMatchObject({ inputTokens: 203_000, outputTokens: 3_600 });
  });

  test("costs what was read from and written to a cache as such", async () => {
    const cached = {
      ...compaction,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 100,
      cache_creation: { ephemeral_1h_input_tokens: 40 },
    };
    const [more, answer] = form({ ...usage, iterations: [cached] });
    const charge = await chargeFor(id, { ...byThreshold, ...more }, answer);
    expect(charge.micros).toBe(micros + 100 + 60 * 1.25 + 40 * 2);
    expect(charge.usage).toMatchObject({ cachedInputTokens: 1000, cacheWriteTokens: 100 });
  });

  test("costs a compaction as such, whatever model it names", async () => {
    const [more, answer] = form({ ...usage, iterations: [{ ...compaction, model: "claude-dear" }] });
    expect((await chargeFor(id, { ...byThreshold, ...more }, answer)).micros).toBe(micros);
  });

  test("costs what it does without, where nothing had to be compacted", async () => {
    for (const iterations of [[message], [{ ...message, type: "fallback_message" }], [], null, "none"]) {
      const [more, answer] = form({ ...usage, iterations });
      expect((await chargeFor(id, { ...byThreshold, ...more }, answer)).micros).toBe(23_200);
    }
  });
});

describe("a conversation that is summarized on demand", () => {
  const asked = { compaction: { type: "summarize" } };
  const nothing = { input_tokens: 0, output_tokens: 0 };
  const told = { ...nothing, iterations: [compaction] };

  test("costs that run, although the answer reports nothing", async () => {
    expect((await chargeFor("claude", asked, json(wholeOf(told, summary)))).micros).toBe(187_000);
    const events = streamed(eventsOf(nothing, told, summary));
    expect((await chargeFor("claude", { ...asked, stream: true }, events)).micros).toBe(187_000);
    const paused = eventsOf(nothing, told, summary).map((event) =>
      event["type"] === "message_delta" ? { ...event, delta: { stop_reason: "compaction" } } : event,
    );
    expect((await chargeFor("claude", { ...asked, stream: true }, streamed(paused))).micros).toBe(187_000);
  });

  test("costs that run where the figures of the answer are missing", async () => {
    const answer = json(wholeOf({ iterations: [compaction] }, summary));
    expect((await chargeFor("claude", asked, answer)).micros).toBe(187_000);
  });

  test("costs the rates of its tier and of its own long context", async () => {
    const fast = json(wholeOf({ ...told, speed: "fast" }, summary));
    expect((await chargeFor("claude", { ...asked, speed: "fast" }, fast)).micros).toBe(561_000);
    const long = { ...nothing, iterations: [{ ...compaction, input_tokens: 200_001 }] };
    expect((await chargeFor("claude", asked, json(wholeOf(long, summary)))).micros).toBe(2_000_010 + 70_000);
  });

  test("costs a token budget all of its tokens", async () => {
    const caller = await world.tokenCaller(1_000_000);
    world.provider.script(json(wholeOf(told, summary)));
    expect((await ask(caller, "claude", asked)).status).toBe(200);
    expect((await world.chargesOf(caller)).map(({ amount }) => amount)).toEqual([-183_500]);
  });

  test("is counted here where its figures make no sense", async () => {
    const caller = await world.creditCaller();
    const broken = { ...nothing, iterations: [{ type: "compaction", input_tokens: "many" }] };
    world.provider.script(json(wholeOf(broken, summary)));
    expect((await ask(caller, "claude", asked)).status).toBe(200);
    const [charge] = await world.chargesOf(caller);
    expect(charge?.basis).toBe("estimated");
    expect(charge?.amount).toBeLessThan(-10_000);
  });

  test("is charged for its summary when the client leaves before the figures", async () => {
    const caller = await world.creditCaller();
    const [start, block] = eventsOf({ input_tokens: 23_000, output_tokens: 1 }, told, summary);
    const begun = streamed([start, block].filter((event) => event !== undefined));
    world.provider.script({ ...begun, steps: [...begun.steps, { stall: true }] });
    const leaving = new AbortController();
    const response = await world.ask(caller, {
      path: "/v1/messages",
      body: { model: "claude", ...hello, ...asked, stream: true },
      signal: leaving.signal,
    });
    await response.body?.getReader().read();
    leaving.abort();
    const [charge] = await world.chargesOf(caller);
    const { usage: charged } = world.observed.at(-1) ?? {};
    expect(charge?.outcome).toBe("cancelled");
    expect(charged?.outputTokens).toBeGreaterThan(1);
  });
});

test("a conversation that may be compacted first is held for twice", async () => {
  const heldFor = (more: JsonObject) =>
    world.heldFor({ path: "/v1/messages", body: { model: "claude", ...hello, ...more } });
  const once = (more: JsonObject) => (heldInput({ model: "claude", ...hello, ...more }) * 2 + 1000 * 2) / 1e6;
  const cleared = { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } };
  expect(await heldFor(cleared)).toBeCloseTo(once(cleared), 9);
  expect(await heldFor(byThreshold)).toBeCloseTo(2 * once(byThreshold), 9);
  const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }];
  const searching = { ...byThreshold, tools };
  expect(await heldFor(searching)).toBeCloseTo(2 * once(searching) + 0.03, 9);
  const summarized = { compaction: { type: "summarize" } };
  expect(await heldFor(summarized)).toBeCloseTo(once(summarized), 9);
});
