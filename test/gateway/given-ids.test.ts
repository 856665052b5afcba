import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { json, openAiError } from "../support/answers.ts";
import { upstreamKeys } from "../support/config.ts";
import { fixture } from "../support/fixtures.ts";
import { type Caller, World } from "./world.ts";

/** What a provider stores is kept apart by key, and is asked for only where it is stored. */
let world: World;
let alice: Caller;
let bob: Caller;

const pool = ["TEST_OPENAI_KEY", "TEST_ANTHROPIC_KEY", "TEST_GEMINI_KEY"] as const;

const tail = `
[providers.pooled]
kind = "openai"
base_url = "PROVIDER_URL/openai/v1"
api_key = [${pool.map((name) => `"env:${name}"`).join(", ")}]

[[models]]
id = "pooled-test"
provider = "pooled"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }
`;

beforeAll(async () => {
  world = await World.start({ tail });
  [alice, bob] = await Promise.all([world.creditCaller(), world.creditCaller()]);
});
beforeEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const path = "/v1/responses";
const base = { model: "pooled-test", input: "Hello" };
const response = JSON.parse(fixture("responses/text.json")) as JsonObject;

let lastId = 0;
function fresh(prefix: string): string {
  lastId += 1;
  return `${prefix}${String(lastId).padStart(48, "0")}`;
}

/** The outcome in words, so that a failed expectation shows the error. */
async function outcome(caller: Caller, body: JsonObject, route = path): Promise<string> {
  const answer = await world.ask(caller, { path: route, body });
  const text = await answer.text();
  if (answer.status === 200) return "answered";
  const { error } = JSON.parse(text) as { error: { code: string; param?: string | null } };
  return `${answer.status} ${error.code} ${error.param ?? ""}`.trim();
}

/** Asks once, and gives the id of the stored response and the key that it was asked for with. */
async function store(caller: Caller): Promise<{ id: string; credential: string | undefined }> {
  const id = fresh("resp_");
  world.provider.script(json({ ...response, id }));
  expect(await outcome(caller, base)).toBe("answered");
  return { id, credential: credentialsSeen().at(-1) };
}

function credentialsSeen(): (string | undefined)[] {
  return world.provider.requests.map(({ headers }) => headers["authorization"]);
}

describe("an id that was given by one credential of a pool", () => {
  test("is asked for with that credential alone, whichever it was", async () => {
    for (const _ of pool) {
      const { id, credential } = await store(alice);
      world.provider.reset();
      for (let time = 0; time < 4; time += 1) {
        expect(await outcome(alice, { ...base, previous_response_id: id })).toBe("answered");
      }
      expect(credentialsSeen()).toEqual(Array(4).fill(credential));
    }
  });

  test("is asked for with no other when that one is limited or refused", async () => {
    for (const [refusal, ending] of [
      [openAiError(429, "slow down", null, { "retry-after": "1" }), "503 service_unavailable"],
      [openAiError(401, "nobody"), "502 upstream_error"],
    ] as const) {
      const { id, credential } = await store(alice);
      world.provider.reset();
      world.provider.script(refusal);
      expect(await outcome(alice, { ...base, previous_response_id: id })).toBe(ending);
      expect(new Set(credentialsSeen())).toEqual(new Set([credential]));
    }
  });

  test("is not found with one that another credential has given", async () => {
    const [first, second] = [await store(alice), await store(alice)];
    expect(second.credential).not.toBe(first.credential);
    world.provider.reset();
    const items = [first, second].map(({ id }) => ({ type: "item_reference", id }));
    expect(await outcome(alice, { ...base, input: items })).toBe("404 not_found input[1].id");
    expect(world.provider.requests).toEqual([]);
  });

  test("is not found once that credential is taken out of the pool, and is found again with it", async () => {
    const { id, credential } = await store(alice);
    const name = pool.find((each) => credential === `Bearer ${upstreamKeys[each]}`);
    await world.reload((config) => config.replace(new RegExp(`"env:${name}"(, )?(?=.*TEST_|\\])`), ""));
    world.provider.reset();
    expect(await outcome(alice, { ...base, previous_response_id: id })).toBe(
      "400 previous_response_not_found previous_response_id",
    );
    expect(world.provider.requests).toEqual([]);
    await world.reload((config) => config);
    expect(await outcome(alice, { ...base, previous_response_id: id })).toBe("answered");
    expect(credentialsSeen()).toEqual([credential]);
  });

  test("is asked for with the only credential there is, whose secret may have been renewed", async () => {
    await world.reload((config) => config.replace(/api_key = \[.*\]/, 'api_key = "env:TEST_BEDROCK_KEY"'));
    const { id } = await store(alice);
    await world.reload((config) => config.replace(/api_key = \[.*\]/, 'api_key = "env:TEST_GEMINI_KEY"'));
    world.provider.reset();
    expect(await outcome(alice, { ...base, previous_response_id: id })).toBe("answered");
    expect(credentialsSeen()).toEqual([`Bearer ${upstreamKeys.TEST_GEMINI_KEY}`]);
    await world.reload((config) => config);
  });
});

describe("a previous response that cannot be continued", () => {
  const notFound = "400 previous_response_not_found previous_response_id";

  test("has the code that clients recover by, whoever's it is and wherever it is", async () => {
    const { id } = await store(alice);
    world.provider.reset();
    expect(await outcome(bob, { ...base, previous_response_id: id })).toBe(notFound);
    expect(await outcome(alice, { ...base, previous_response_id: fresh("resp_") })).toBe(notFound);
    expect(await outcome(alice, { ...base, model: "gpt-test", previous_response_id: id })).toBe(notFound);
    expect(await outcome(alice, { ...base, model: "claude-test", previous_response_id: id })).toBe(notFound);
    expect(world.provider.requests).toEqual([]);
  });
});
