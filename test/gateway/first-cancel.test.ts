import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { TokenCounter } from "../../src/catalog/tokens/counter.ts";
import { sse } from "../support/answers.ts";
import { StreamReader } from "../support/sse.ts";
import { talker } from "./pairs.ts";
import { hello, paths, streamEvents } from "./wire-answers.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** A tokenizer that is never loaded. */
const startSilent = () => new Worker(URL.createObjectURL(new Blob(["self.onmessage = () => {};"])));
const text = "Sluices keep the canal navigable.";
const [helloTokens, textTokens] = [5, 9];

/** Cancels a stream without usage behind its text, while no count is ever answered. Returns what it cost. */
async function cancelled(tokens: TokenCounter, more: object = {}): Promise<number> {
  const before = world.gateway.tokens;
  Object.assign(world.gateway, { tokens });
  const caller = await world.creditCaller();
  const events = streamEvents("chat", { text, usage: null });
  world.provider.script({ ...sse(""), steps: [{ write: events.slice(0, -2).join("") }, { stall: true }] });
  const body = hello("chat", "gpt-test", { stream: true, ...more });
  const reader = new StreamReader(await world.ask(caller, { path: paths.chat, body }));
  await reader.until("navigable");
  await reader.cancel();
  const [charge] = await world.chargesOf(caller);
  expect(charge).toMatchObject({ basis: "estimated", outcome: "cancelled" });
  Object.assign(world.gateway, { tokens: before });
  tokens.stop();
  return -(charge?.amount ?? 0) / 1000;
}

test("a small call that is cancelled before the tokenizer is loaded does not wait for it, and loads it", async () => {
  const tokens = new TokenCounter({ deadlineMs: 600_000, startWorker: startSilent });
  const exact = helloTokens + 2 * textTokens;
  expect(await cancelled(tokens)).toBeWithin(Math.floor(exact / 2), exact + 1);
  expect(tokens.isLoaded).toBe(false);
});

test("a larger one is counted by it", async () => {
  const tokens = new TokenCounter({ deadlineMs: 60_000 });
  const messages = [{ role: "user", content: "word ".repeat(1000) }];
  expect(await cancelled(tokens, { messages })).toBeWithin(1000, 1040);
});

test("loading starts the thread once, and a count is exact from then on", async () => {
  const tokens = new TokenCounter({ deadlineMs: 60_000 });
  expect([tokens.running, tokens.isLoaded]).toEqual([false, false]);
  tokens.load();
  expect(tokens.running).toBe(true);
  tokens.load();
  expect(await tokens.of("key").text(["Hello"])).toBe(1);
  expect(tokens.isLoaded).toBe(true);
  tokens.stop();
  expect(tokens.isLoaded).toBe(false);
});
