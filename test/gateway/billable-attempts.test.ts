import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { utcDay } from "../../src/base/clock.ts";
import type { AttemptSums } from "../../src/store/store.ts";
import { json, openAiError, silence, sse, text } from "../support/answers.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths, streamAnswer, streamEvents, wholeAnswer } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

/** Every test has a model of its own at the provider. */
const names = ["plain", "retried", "passed-on", "uncounted", "failing", "unstarted", "budget", "left"];
const price = "price = { input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25 }";
const tail = names
  .map(
    (name) => `
[[models]]
id = "${name}"
context_window = 8192
max_output_tokens = 1024
${price}
[[models.deployments]]
provider = "${name === "unstarted" ? "anthropic" : "openai"}"
upstream_model = "${name}-1"
priority = 1
${name === "passed-on" ? `[[models.deployments]]\nprovider = "local"\nupstream_model = "${name}-2"\npriority = 2` : ""}
`,
  )
  .join("");

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller();
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** What was counted for a model, once as many rows are there; without what is 0. */
async function counted(provider: string, model: string, rows = 1): Promise<readonly Partial<AttemptSums>[]> {
  const today = utcDay(Date.now());
  let found: readonly AttemptSums[] = [];
  await waitFor(async () => {
    const sums = (
      await Array.fromAsync(world.running.store.reports.attemptPages(provider, today - 1, today))
    ).flat();
    found = sums.filter(({ upstreamModel }) => upstreamModel === model);
    return found.length >= rows;
  }, `${rows} sums of ${model}`);
  await world.settled();
  return found.map(({ day, upstreamModel, credential, provider: _, ...figures }) => {
    expect(credential === "").toBe(provider === "local");
    return Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== 0));
  });
}

const usage = { prompt_tokens: 20, prompt_tokens_details: { cached_tokens: 8 }, completion_tokens: 3 };
const tokens = { inputTokens: 12, cachedInputTokens: 8, outputTokens: 3 };
const owedNanoUsd = 12_000 + 800 + 6_000;
const answer = wholeAnswer("chat", { text: "Hello.", usage });

async function ask(model: string, more: object = {}, by = caller): Promise<string> {
  const response = await world.ask(by, { path: paths.chat, body: hello("chat", model, more) });
  return response.text();
}

test("an attempt is counted as its provider reports it, for the credential and the upstream model", async () => {
  world.provider.script(answer);
  await ask("plain");
  await ask("plain");
  const twice = { inputTokens: 24, cachedInputTokens: 16, outputTokens: 6, owedNanoUsd: 2 * owedNanoUsd };
  expect(await counted("openai", "plain-1")).toEqual([{ outcome: "completed", attempts: 2, ...twice }]);
});

test("an attempt that the provider has refused is not counted", async () => {
  world.provider.script([openAiError(500, "on fire"), answer]);
  await ask("retried");
  expect(world.provider.requests.length).toBe(2);
  expect(await counted("openai", "retried-1")).toEqual([
    { outcome: "completed", attempts: 1, ...tokens, owedNanoUsd },
  ]);
});

test("an attempt whose answer was useless is counted as charged to nobody", async () => {
  world.provider.script([text("<html>", "text/html"), answer]);
  await ask("passed-on");
  expect(await counted("openai", "passed-on-1")).toEqual([{ outcome: "uncharged", attempts: 1 }]);
  expect(await counted("local", "passed-on-2")).toEqual([
    { outcome: "completed", attempts: 1, ...tokens, owedNanoUsd },
  ]);
});

test("what was charged without the provider's figures is apart from what it has reported", async () => {
  world.provider.script(streamAnswer("chat", { text: "one two three" }));
  await ask("uncounted", { stream: true });
  const [sums] = await counted("openai", "uncounted-1");
  expect(sums).toMatchObject({ outcome: "completed", attempts: 1, estimated: 1, countedOutputTokens: 3 });
  expect(sums?.countedInputTokens).toBeGreaterThan(0);
  expect(sums?.inputTokens).toBeUndefined();
});

test("a failed answer that reports its usage is counted once, as failed", async () => {
  world.provider.script(json({ error: { code: "server_error", message: "It broke." }, usage } as never));
  await ask("failing");
  expect(await counted("openai", "failing-1")).toEqual([
    { outcome: "failed", attempts: 1, ...tokens, owedNanoUsd },
  ]);
});

test("tokens that were reported before a stream failed without content are kept, and charged to nobody", async () => {
  const [start = ""] = streamEvents("messages", {
    text: "",
    firstUsage: { input_tokens: 9, output_tokens: 1 },
  });
  const error = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  world.provider.script(sse(`${start}event: error\ndata: ${JSON.stringify(error)}\n\n`));
  await ask("unstarted", { stream: true });
  expect(await counted("anthropic", "unstarted-1")).toEqual([
    { outcome: "uncharged", attempts: 1, inputTokens: 9, outputTokens: 1 },
  ]);
  expect(await world.chargesOf(caller)).not.toContainEqual({
    amount: 0,
    basis: "measured",
    outcome: "failed",
  });
});

test("what a token budget has used is counted at the list price", async () => {
  world.provider.script(answer);
  await ask("budget", {}, await world.tokenCaller(10_000));
  expect(await counted("openai", "budget-1")).toEqual([
    { outcome: "completed", attempts: 1, ...tokens, owedNanoUsd },
  ]);
});

test("a call whose client leaves before the answer is counted, because the provider may bill it", async () => {
  const gone = new AbortController();
  world.provider.script(silence());
  const reached = world.provider.nextRequest();
  const asking = world.ask(caller, { path: paths.chat, body: hello("chat", "left"), signal: gone.signal });
  await reached;
  gone.abort();
  await asking.catch(() => null);
  expect(await counted("openai", "left-1")).toEqual([{ outcome: "uncharged", attempts: 1 }]);
});
