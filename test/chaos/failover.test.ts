import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Answer, cutBefore, hangUp, json, sse, text } from "../support/answers.ts";
import { answerFrom, usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { seededRandom } from "../support/random.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/**
 * A model with two deployments, one of which fails half the time at random, in all the ways that a second
 * attempt can mend: no client may see any of it, retries stay within their budget, and what has begun to
 * reach a client is never asked for again (invariant 8).
 */
const isCompiled = process.env["SLUICE_TEST_TARGET"] === "executable";
const requests = isCompiled ? 3_000 : 1_500;
const clients = 64;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const random = seededRandom(seed);

const mendable: readonly (() => Answer)[] = [
  () => json({ error: { message: "boom" } }, { status: 500 }),
  () => json({ error: { message: "boom" } }, { status: 502 }),
  () => json({ error: { message: "slow down" } }, { status: 429 }),
  () => json({ error: { message: "slow down" } }, { status: 429, headers: { "retry-after-ms": "50" } }),
  () => json({ error: { message: "busy" } }, { status: 503 }),
  hangUp,
  () => text("<html>", "text/html"),
  () => json({ error: { message: "in a 200", type: "server_error" } }),
  () => sse('data: {"error":{"message":"as the first frame"}}\n\n'),
];

/** A stream that breaks off behind its first content: nothing can mend that any more. */
function breaksOff(): Answer {
  return cutBefore(answerFrom("chat/text.sse"), '"finish_reason":"stop"', [{ sleepMs: 5 }, { reset: true }]);
}

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;
/** What was said to each question upstream, attempt by attempt. */
const attempts = new Map<string, ("good" | "failed" | "broke")[]>();

function answering(request: SeenRequest): Answer {
  const question = questionOf(request);
  const kind = chooseKind(request);
  attempts.set(question, [...(attempts.get(question) ?? []), kind]);
  if (kind === "good") return usualResponse(request);
  return kind === "broke" ? breaksOff() : random.pick(mendable)();
}

function chooseKind(request: SeenRequest): "good" | "failed" | "broke" {
  if (request.path.startsWith("/steady/")) return "good";
  if (random.chance(0.5)) return "failed";
  return request.body["stream"] === true && random.chance(0.1) ? "broke" : "good";
}

function questionOf(request: SeenRequest): string {
  return /question-\d+/.exec(request.text)?.[0] ?? "none";
}

beforeAll(async () => {
  provider = startProvider(answering);
  const gone = startProvider();
  gone.stop();
  sluice = await startSluice({
    config: `
[providers.steady]
kind = "openai-compatible"
base_url = "${provider.url}/steady"
[providers.shaky]
kind = "openai-compatible"
base_url = "${provider.url}/shaky"
[providers.gone]
kind = "openai-compatible"
base_url = "${gone.url}/gone"
${modelWith("half", "shaky", 1)}
${modelWith("first", "shaky", 0)}
${modelWith("refusing", "gone", 1)}`,
  });
  key = await sluice.createKey({ mode: "token_budget", budget: 1_000_000_000 });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

function modelWith(id: string, other: string, priority: number): string {
  return `[[models]]
id = "${id}"
max_output_tokens = 100
[[models.deployments]]
provider = "steady"
[[models.deployments]]
provider = "${other}"
upstream_model = "${id}"
priority = ${priority}`;
}

interface Seen {
  readonly question: string;
  readonly status: number;
  readonly text: string;
}

async function ask(model: string, number: number): Promise<Seen> {
  const question = `question-${number}`;
  const stream = random.chance(0.5);
  const body = { model, stream, messages: [{ role: "user", content: question }] };
  const response = await sluice.request("/v1/chat/completions", { key, body });
  return { question, status: response.status, text: await response.text() };
}

/** Many clients at once, each asking one question after another. */
async function askAll(model: string, from: number, count: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  let next = from;
  const client = async () => {
    for (let number = next++; number < from + count; number = next++) seen.push(await ask(model, number));
  };
  await Promise.all(Array.from({ length: clients }, client));
  return seen;
}

test.each([
  ["of equal weight", "half", 0, requests * 0.6],
  ["that is to be asked first", "first", 1_000_000, requests * 0.3],
  ["that refuses connections", "refusing", 2_000_000, requests * 0.1],
])(
  `one of two deployments %s fails, and no client sees it (SEED=${seed})`,
  async (_what, model, from, count) => {
    attempts.clear();
    const seen = await askAll(model, from, count);
    expect(seen).toHaveLength(count);
    expect(seen.filter(({ status }) => status !== 200).slice(0, 3)).toEqual([]);
    for (const { question, text: said } of seen) {
      // A byte that reached the client was the last attempt's: nothing was asked behind it, nothing said twice.
      const isBroken = said.includes('"error"');
      expect(attempts.get(question)?.at(-1), question).toBe(isBroken ? "broke" : "good");
      expect(said.split("Sluices"), question).toHaveLength(2);
    }
    let retries = 0;
    for (const kinds of attempts.values()) retries += kinds.length - 1;
    expect(retries).toBeLessThanOrEqual(count * 0.2);
    const usage = async () =>
      (await (await sluice.request("/v1/usage", { key })).json()) as { tokens: { reserved: number } };
    await waitFor(async () => (await usage()).tokens.reserved === 0, "all holds to end");
  },
  120_000,
);
