import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { type Answer, json } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import type { SeenRequest } from "../support/provider.ts";
import { summarizeUsage } from "../support/usage.ts";
import { paths, wholeAnswer } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

const names = ["one", "two", "three"];

function modelOf(id: string, providers: readonly string[], more = ""): string {
  const deployments = providers.map((name) => `[[models.deployments]]\nprovider = "${name}"\n`);
  return `[[models]]\nid = "${id}"\nfree = true\n${more}\n${deployments.join("")}`;
}

const tail = `
${names
  .map(
    (name) => `[providers.${name}]
kind = "openai-compatible"
base_url = "PROVIDER_URL/${name}/v1"
api_key = ["env:TEST_OPENAI_KEY", "env:TEST_ANTHROPIC_KEY"]
dialects = ["chat", "responses", "messages"]
`,
  )
  .join("")}
[providers.alone]
kind = "openai-compatible"
base_url = "PROVIDER_URL/alone/v1"
dialects = ["chat", "responses", "messages"]
${modelOf("single", ["alone"])}
${modelOf("several", names)}
${modelOf("scattered", names, 'affinity = "none"')}
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Whose cache a request can use. */
function placeOf({ path, headers }: SeenRequest): string {
  return `${path.split("/")[1]} ${headers["authorization"] ?? headers["x-api-key"] ?? ""}`;
}

const caches = new Map<string, (readonly string[])[]>();
beforeEach(() => {
  caches.clear();
  world.provider.reset();
  world.provider.script(cachingPerPlace);
});

/** A provider that has cached, at each place apart, the turns that it was sent there before. */
function cachingPerPlace(request: SeenRequest): Answer {
  const { body, path } = request;
  const turns = [body["system"] ?? body["instructions"] ?? "", ...turnsOf(body)].map((turn) =>
    JSON.stringify(turn),
  );
  const cache = caches.get(placeOf(request)) ?? [];
  caches.set(placeOf(request), [...cache, turns]);
  const shared = cache.map((earlier) => {
    const differs = turns.findIndex((turn, index) => turn !== earlier[index]);
    return differs === -1 ? turns.length : differs;
  });
  const input = turns.length;
  const cached = Math.max(0, ...shared);
  if (path.endsWith("/chat/completions")) {
    const details = { cached_tokens: cached };
    const usage = { prompt_tokens: input, prompt_tokens_details: details, completion_tokens: 1 };
    return wholeAnswer("chat", { text: "Yes.", usage });
  }
  if (path.endsWith("/responses")) {
    const usage = { input_tokens: input, input_tokens_details: { cached_tokens: cached }, output_tokens: 1 };
    return wholeAnswer("responses", { text: "Yes.", usage });
  }
  const usage = { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: 1 };
  return wholeAnswer("messages", { text: "Yes.", usage });
}

function turnsOf(body: JsonObject): readonly unknown[] {
  const turns = body["messages"] ?? body["input"];
  return Array.isArray(turns) ? turns : [turns];
}

interface Conversation {
  readonly dialect: BodyDialectName;
  readonly model: string;
  /** How it begins. */
  readonly question: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly more?: JsonObject;
}

/** The conversation up to a turn, as a client sends it. */
function bodyAt({ dialect, model, question, more = {} }: Conversation, turn: number): object {
  const said = Array.from({ length: turn * 2 + 1 }, (_, index) => {
    if (index % 2 === 1) return { role: "assistant", content: "Yes." };
    return { role: "user", content: index === 0 ? question : `And ${index}?` };
  });
  if (dialect === "chat")
    return { model, messages: [{ role: "system", content: "Be brief." }, ...said], ...more };
  if (dialect === "responses") return { model, instructions: "Be brief.", input: said, ...more };
  const system = [{ type: "text", text: "Be brief." }];
  return { model, max_tokens: 10, system, messages: said, ...more };
}

/** The share of ten turns' input that came from a cache. */
async function cachedShare(conversation: Conversation): Promise<number> {
  const before = await sums();
  for (let turn = 0; turn < 10; turn += 1) {
    const body = bodyAt(conversation, turn);
    const path = paths[conversation.dialect];
    const response = await world.ask(caller, { path, body, headers: conversation.headers ?? {} });
    expect(response.status).toBe(200);
    await response.text();
  }
  const after = await sums();
  return (after.cached - before.cached) / (after.input - before.input);
}

async function sums(): Promise<{ readonly input: number; readonly cached: number }> {
  await world.settled();
  const groups = await summarizeUsage(world.running.store, { by: "key", sinceMs: 0, keyId: caller.key.id });
  return {
    input: groups.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    cached: groups.reduce((sum, { cachedInputTokens }) => sum + cachedInputTokens, 0),
  };
}

function placesAsked(): ReadonlySet<string> {
  return new Set(world.provider.requests.map(placeOf));
}

describe("ten turns are cached as well with three deployments as with one", () => {
  const long = "A long story. ".repeat(1000);
  const huge = "A very long story. ".repeat(80_000);
  const ways: readonly [string, Omit<Conversation, "model">][] = [
    ["by how they begin, in chat", { dialect: "chat", question: "Who?" }],
    ["by how they begin, in responses", { dialect: "responses", question: "Who?" }],
    ["by how they begin, in messages", { dialect: "messages", question: "Who?" }],
    ["by how they begin, with long texts", { dialect: "chat", question: long }],
    ["by how they begin, with a text of a megabyte", { dialect: "chat", question: huge }],
    ["by a header", { dialect: "chat", question: "Who?", headers: { "x-session-id": "s1" } }],
    ["by the key of the cache", { dialect: "responses", question: "Who?", more: { prompt_cache_key: "k" } }],
    [
      "by the user's id",
      { dialect: "messages", question: long, more: { metadata: { user_id: "u".repeat(170) } } },
    ],
  ];
  for (const [way, conversation] of ways) {
    test(`known ${way}`, async () => {
      const alone = await cachedShare({ ...conversation, model: "single" });
      world.provider.requests.length = 0;
      expect(await cachedShare({ ...conversation, model: "several" })).toBe(alone);
      expect(placesAsked().size).toBe(1);
      expect(alone).toBeGreaterThan(0.8);
    });
  }
});

test("a conversation that is continued by the id of its last response stays where it began", async () => {
  let answers = 0;
  const content = [{ type: "output_text", text: "Yes.", annotations: [] }];
  world.provider.script(() => {
    answers += 1;
    const head = {
      id: `resp_${answers}`,
      object: "response",
      created_at: 1,
      model: "up",
      status: "completed",
    };
    const item = { type: "message", id: `msg_${answers}`, role: "assistant", status: "completed", content };
    return json({ ...head, output: [item], usage: { input_tokens: 1, output_tokens: 1 } });
  });
  for (let conversation = 0; conversation < 5; conversation += 1) {
    world.provider.requests.length = 0;
    let previous: string | null = null;
    for (let turn = 0; turn < 4; turn += 1) {
      const input = turn === 0 ? `Who is ${conversation}?` : "And then?";
      const body = { model: "several", instructions: "Be brief.", input, previous_response_id: previous };
      const response = await world.ask(caller, { path: paths.responses, body });
      previous = ((await response.json()) as { id: string }).id;
    }
    expect(world.provider.requests).toHaveLength(4);
    expect(placesAsked().size).toBe(1);
  }
});

test("conversations of one key are spread over deployments and credentials, also of long texts that begin alike", async () => {
  for (const filler of ["", "The same for everybody. ".repeat(500)]) {
    world.provider.requests.length = 0;
    for (let index = 0; index < 100; index += 1) {
      const body = bodyAt({ dialect: "chat", model: "several", question: `${filler}${index}?` }, 0);
      await (await world.ask(caller, { path: paths.chat, body })).text();
    }
    expect(placesAsked().size).toBe(6);
  }
});

test("two keys' conversations of the same name go their own ways", async () => {
  const headers = { "x-session-id": "the same" };
  for (let index = 0; index < 12; index += 1) {
    const other = await world.creditCaller();
    const body = bodyAt({ dialect: "chat", model: "several", question: "Who?" }, 0);
    await (await world.ask(other, { path: paths.chat, body, headers })).text();
  }
  expect(placesAsked().size).toBeGreaterThan(1);
});

test("without affinity every turn may go elsewhere", async () => {
  await cachedShare({ dialect: "chat", model: "scattered", question: "Who?" });
  expect(placesAsked().size).toBeGreaterThan(1);
});
