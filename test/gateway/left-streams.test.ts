import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type Answer, sse } from "../support/answers.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { type Pair, pairs, talker } from "./pairs.ts";
import { hello, paths, streamEvents, usageOf } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

/** What a stream costs depends on what came of it, and not on when its client leaves. */
let world: World;
beforeAll(async () => {
  world = await World.startCounting({ tail: talker });
}, 60_000);
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const text = "Sluices keep the canal navigable.";
const [helloTokens, textTokens] = [5, 9];
/** At 1 and 2 USD per million tokens, in nano-credits. */
const nano = (input: number, output: number) => input * 1_000 + output * 2_000;

/** What a provider says behind its last text to say that it was the last. */
const lastTextEnds = {
  chat: '"finish_reason":"stop"',
  responses: "output_text.done",
  messages: "block_stop",
};
/** What the client sees of that, if it is translated. */
const clientSees = { chat: "navigable", responses: "navigable", messages: "navigable" };

/** The events of an answer before and from the first one behind that which has this text in it. */
function cutBehind(events: readonly string[], needle: string): [string, string] {
  const cut = events.findIndex((event) => event.includes(needle)) + 1;
  if (cut === 0) throw new Error(`no event has ${needle}`);
  return [events.slice(0, cut).join(""), events.slice(cut).join("")];
}

function streaming(...steps: Answer["steps"]): Answer {
  return { ...sse(""), steps };
}

/** Asks for a stream, reads as far as `needle`, and leaves. */
async function leaveAt(pair: Pair, needle: string): Promise<Caller> {
  const caller = await world.creditCaller();
  const body = hello(pair.client, pair.model, { stream: true });
  const reader = new StreamReader(await world.ask(caller, { path: paths[pair.client], body }));
  await reader.until(needle);
  await reader.cancel();
  return caller;
}

function eventsOf(provider: Pair["provider"]): readonly string[] {
  return streamEvents(provider, { text, usage: usageOf(provider, 200_000, 10) });
}

const cancelled = (amount: number, basis: "measured" | "estimated") => [
  { amount: -amount, basis, outcome: "cancelled" as const },
];

describe.each(pairs)("a $client client of $model, which speaks $provider,", (pair) => {
  const events = eventsOf(pair.provider);
  const [before, behind] = cutBehind(events, lastTextEnds[pair.provider]);

  test("that leaves behind the last text pays by the usage that follows, and the provider is not left", async () => {
    const left = Promise.withResolvers<void>();
    const rest: Answer["steps"] = [{ until: left.promise }, { sleepMs: 60 }, { write: behind }];
    world.provider.script(streaming({ write: before }, ...rest));
    const caller = await leaveAt(pair, clientSees[pair.client]);
    const [exchange] = world.gateway.ongoing.exchanges();
    await waitFor(() => exchange?.call.request.signal.aborted === true, "the client to have left");
    left.resolve();
    const input = pair.model === "gpt-test" || pair.model === "claude-test" ? 200_000 : null;
    const charges = await world.chargesOf(caller);
    // Usage above the model's context window is implausible and ignored.
    if (input === null) expect(charges).toMatchObject([{ outcome: "cancelled" }]);
    else expect(charges).toEqual(cancelled(nano(input, 10), "measured"));
    expect(world.provider.aborted).toHaveLength(0);
    expect(world.observed.at(-1)).toMatchObject({ outcome: "cancelled" });
  });

  test("that leaves in the middle of a text pays for what came, and the provider is left", async () => {
    const [first] = cutBehind(events, " keep");
    const [more] = cutBehind(events, " the").map((part) => part.slice(first.length));
    const left = Promise.withResolvers<void>();
    world.provider.script(
      streaming({ write: first }, { until: left.promise }, { write: more ?? "" }, { stall: true }),
    );
    const caller = await leaveAt(pair, " keep");
    left.resolve();
    await waitFor(() => world.provider.aborted.length === 1, "the provider to be left");
    const [charge, ...others] = await world.chargesOf(caller);
    expect(others).toEqual([]);
    expect(charge).toMatchObject({ basis: "estimated", outcome: "cancelled" });
    // " the" may have come before it was left.
    expect([nano(helloTokens, 4), nano(helloTokens, 5)]).toContain(-(charge?.amount ?? 0));
  });
});

test("no client that leaves behind the last text makes its provider be waited for longer than two seconds", async () => {
  world.provider.script(({ path }) => {
    const provider = (["chat", "responses", "messages"] as const).find((name) => path.endsWith(paths[name]));
    const [before] = cutBehind(eventsOf(provider ?? "chat"), lastTextEnds[provider ?? "chat"]);
    return streaming({ write: before }, { stall: true });
  });
  const callers = await Promise.all(pairs.map((pair) => leaveAt(pair, clientSees[pair.client])));
  await waitFor(() => world.provider.aborted.length === pairs.length, "the providers to be left");
  for (const { startedAtMs, abortedAtMs } of world.provider.aborted)
    expect((abortedAtMs ?? 0) - startedAtMs).toBeGreaterThan(1900);
  for (const caller of callers)
    expect(await world.chargesOf(caller)).toEqual(cancelled(nano(helloTokens, textTokens), "estimated"));
});

const cached = { input_tokens: 15, cache_creation_input_tokens: 160_000, output_tokens: 1 };
const cachedNano = 15 * 1_000 + 160_000 * 1_250;

describe.each(pairs.filter(({ provider }) => provider === "messages"))(
  "a $client client of Claude",
  (pair) => {
    const started = (usage: object) => streamEvents("messages", { text, firstUsage: usage })[0] ?? "";

    test("that leaves before any text pays for what the provider says it has read and cached", async () => {
      const caller = await world.creditCaller();
      world.provider.script(streaming({ write: started(cached) }, { stall: true }));
      const leaving = new AbortController();
      const body = hello(pair.client, pair.model, { stream: true });
      const { signal } = leaving;
      const response = await world.ask(caller, { path: paths[pair.client], body, signal });
      const reading = response.text().catch(() => "");
      await waitFor(
        () => (world.provider.requests[0]?.startedAtMs ?? 0) < performance.now() - 300,
        "the start",
      );
      leaving.abort();
      await reading;
      const [charge] = await world.chargesOf(caller);
      expect(charge).toEqual({ amount: -(cachedNano + 2_000), basis: "estimated", outcome: "cancelled" });
      await waitFor(() => world.provider.aborted.length === 1, "the provider to be left");
    });

    test("whose provider fails there pays nothing", async () => {
      const caller = await world.creditCaller();
      world.provider.script(streaming({ write: started(cached) }, { reset: true }));
      const body = hello(pair.client, pair.model, { stream: true });
      await (await world.ask(caller, { path: paths[pair.client], body })).text();
      expect(await world.chargesOf(caller)).toEqual([]);
    });
  },
);

test("a gateway that stops does not wait for the usage of a client that has left, and charges what came", async () => {
  const own = await World.start();
  const leaving = await own.creditCaller();
  const events = streamEvents("chat", { text, usage: usageOf("chat", 100, 10) });
  const [before] = cutBehind(events, lastTextEnds.chat);
  own.provider.script(streaming({ write: before }, { stall: true }));
  const body = hello("chat", "gpt-test", { stream: true });
  const reader = new StreamReader(await own.ask(leaving, { path: paths.chat, body }));
  await reader.until("navigable");
  await reader.cancel();
  const [exchange] = own.gateway.ongoing.exchanges();
  await waitFor(() => exchange?.call.request.signal.aborted === true, "the client to have left");
  own.gateway.ongoing.interruptAll(new Error("stop") as never);
  expect(await own.chargesOf(leaving)).toEqual(cancelled(nano(helloTokens, textTokens), "estimated"));
  expect(own.gateway.accounts.openHolds).toBe(0);
  await own[Symbol.asyncDispose]();
});
