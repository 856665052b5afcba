import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { mutateBytes, mutateJson } from "./mutate.ts";

/** `SEED=n` runs one again. */
const only = process.env["SEED"] === undefined ? null : Number(process.env["SEED"]);
const runs = process.env["SLUICE_SOAK"] === "1" ? 500_000 : 9_000;
const atOnce = 16;

let provider: ScriptedProvider;
let sluice: Sluice;
let keys: TestKey[];

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({
    config: configFor({ url: provider.url, head: "[server]\nanonymous_rpm = 10000000" }),
    env: { SLUICE_LOG_LEVEL: "error" },
  });
  keys = await Promise.all([
    sluice.createKey({ credit: 1_000_000 }),
    sluice.createKey({ mode: "token_budget", budget: 1_000_000_000_000 }),
  ]);
  for (const key of keys) {
    await waitFor(
      async () => (await sluice.request("/v1/usage", { key })).status === 200,
      "the keys to be known",
    );
  }
});

afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const image = "data:image/png;base64,iVBORw0KGgo=";

/** Requests that use most of what each dialect has, so that most of the code is reached. */
const bodies: Readonly<Record<string, JsonObject>> = {
  "/v1/chat/completions": {
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "image_url", image_url: { url: image } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "sunny" },
    ],
    tools: [
      { type: "function", function: { name: "f", description: "d", parameters: schema, strict: true } },
    ],
    tool_choice: { type: "function", function: { name: "f" } },
    max_tokens: 50,
    temperature: 1,
    top_p: 0.5,
    stop: ["a", "b"],
    n: 1,
    stream_options: { include_usage: true },
    response_format: { type: "json_schema", json_schema: { name: "s", schema } },
    reasoning_effort: "low",
    user: "u",
  },
  "/v1/responses": {
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "Hi" },
          { type: "input_image", image_url: image },
        ],
      },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "t" }],
        encrypted_content: "e",
      },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "sunny" },
    ],
    instructions: "Be brief.",
    tools: [{ type: "function", name: "f", parameters: schema }],
    tool_choice: "auto",
    max_output_tokens: 50,
    reasoning: { effort: "low", summary: "auto" },
    text: { format: { type: "json_schema", name: "s", schema } },
    include: ["reasoning.encrypted_content"],
    store: false,
  },
  "/v1/messages": {
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "t", signature: "s" },
          { type: "tool_use", id: "t1", name: "f", input: {} },
        ],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "sunny" }] }],
      },
    ],
    tools: [{ name: "f", description: "d", input_schema: schema }],
    tool_choice: { type: "auto" },
    max_tokens: 50,
    stop_sequences: ["a"],
    thinking: { type: "enabled", budget_tokens: 1024 },
    metadata: { user_id: "u" },
    top_k: 5,
  },
};

const paths = [...Object.keys(bodies), "/v1/messages/count_tokens"];

function bodyFor(path: string, random: SeededRandom): Uint8Array {
  const base = bodies[path] ?? bodies["/v1/messages"] ?? {};
  const model = random.pick(["gpt-test", "gpt-test", "claude-test", "claude-test", "local-test"]);
  const mutated = mutateJson(base as Json, random, random.pick([0, 0.01, 0.05, 0.2]));
  const body = typeof mutated === "object" && mutated !== null && !Array.isArray(mutated) ? mutated : base;
  const stream = random.chance(0.4);
  const bytes = Buffer.from(JSON.stringify({ model, ...body, ...(stream ? { stream } : {}) }));
  return random.chance(0.3) ? mutateBytes(bytes, random) : bytes;
}

function headersFor(key: TestKey, random: SeededRandom): Record<string, string> {
  const strange = ["", "x", "é", "0", "null", "a,b", "x".repeat(300), "2026-10-21", "application/json"];
  const headers: Record<string, string> = { authorization: `Bearer ${key.key}` };
  for (const name of [
    "idempotency-key",
    "anthropic-beta",
    "compat-version",
    "content-type",
    "accept",
    "x-request-id",
    "x-sluice-cost",
  ]) {
    if (random.chance(0.1)) headers[name] = random.pick(strange);
  }
  if (random.chance(0.02)) headers["authorization"] = random.pick(strange);
  if (random.chance(0.02)) headers["x-api-key"] = random.pick(strange);
  return headers;
}

async function fuzzOnce(seed: number): Promise<number> {
  const random = seededRandom(seed);
  const key = random.pick(keys);
  const path = random.pick(paths);
  const response = await sluice.request(path, {
    key,
    headers: headersFor(key, random),
    body: bodyFor(path, random),
  });
  const text = await response.text();
  expect(response.status, `SEED=${seed}: ${text.slice(0, 300)}`).toBeLessThan(500);
  expect(response.headers.get("x-request-id"), `SEED=${seed}`).toMatch(/^req_/);
  if (response.status !== 200) expect(JSON.parse(text), `SEED=${seed}`).toHaveProperty("error.message");
  return response.status;
}

test("fuzzed requests are answered or refused, never with a 5xx, and leave no hold open", async () => {
  const statuses = new Map<number, number>();
  let seed = only ?? 1;
  const worker = async () => {
    while (seed <= (only ?? runs)) {
      const mine = seed;
      seed += 1;
      const status = await fuzzOnce(mine);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      provider.requests.length = 0;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (only === null) {
    // A fuzz that is only ever refused, or never, would find nothing.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(runs / 10);
    expect(statuses.get(400) ?? 0).toBeGreaterThan(runs / 10);
  }
  for (const key of keys) {
    const summary = (await (await sluice.request("/v1/usage", { key })).json()) as Record<
      string,
      { reserved: number }
    >;
    expect(summary["credits"]?.reserved).toBe(0);
    expect(summary["tokens"]?.reserved).toBe(0);
  }
  expect((await sluice.cli("ledger", "audit")).code).toBe(0);
}, 3_600_000);
