import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from "bun:test";
import type { Accounts } from "../../src/ledger/accounts.ts";
import { type Answer, sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { readStream, StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths, streamAnswer, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

/** Whatever a charge does, an exchange gives back what it took: its place, its claim, its hold, its entry in the log. */
let world: World;
beforeAll(async () => {
  world = await World.start({
    head: "[server]\nmax_concurrent_per_key = 1\n",
    provider: "max_concurrent = 1",
  });
});
afterAll(() => world[Symbol.asyncDispose]());

const broken = new Error("canary: the database is damaged");

/** Ways in which a ledger that is broken fails to settle; after some of them the hold is still open. */
const faults: Readonly<Record<string, Accounts["settle"]>> = {
  "rejects at once": () => Promise.reject(broken),
  "rejects later": async () => {
    await Bun.sleep(5);
    throw broken;
  },
  throws: () => {
    throw broken;
  },
};

function breakSettling(settle: Accounts["settle"]): void {
  Object.assign(world.gateway.accounts, { settle });
}

afterEach(() => {
  Reflect.deleteProperty(world.gateway.accounts, "settle");
  Reflect.deleteProperty(world.gateway.accounts, "progress");
  world.provider.reset();
  world.observed.length = 0;
});

const models = { chat: "gpt-test", responses: "gpt-test", messages: "claude-test" } as const;
const inBandError: Readonly<Record<BodyDialectName, string>> = {
  chat: 'data: {"error"',
  responses: "response.failed",
  messages: "event: error",
};
const properEnd: Readonly<Record<BodyDialectName, string>> = {
  chat: "[DONE]",
  responses: "response.completed",
  messages: "message_stop",
};
const text = "Sluices keep the canal navigable.";

function beginning(dialect: BodyDialectName, then: Answer["steps"]): Answer {
  const events = streamEvents(dialect, { text });
  const second = events.findIndex((event) => event.includes(" keep"));
  return { ...sse(""), steps: [{ write: events.slice(0, second + 1).join("") }, ...then] };
}

function ask(caller: Caller, dialect: BodyDialectName, stream: boolean): Promise<Response> {
  const body = hello(dialect, models[dialect], { stream });
  return world.ask(caller, { path: paths[dialect], body, headers: { "idempotency-key": "once" } });
}

/** Nothing is left, the log has one line, and the same key can ask again: places are limited to one. */
async function expectClosed(caller: Caller, dialect: BodyDialectName, outcome: string): Promise<void> {
  await world.settled();
  expect(world.observed.map((facts) => facts.outcome)).toEqual([outcome]);
  Reflect.deleteProperty(world.gateway.accounts, "settle");
  world.provider.script(wholeAnswer(dialect, { text, usage: usageOf(dialect, 10, 10) }));
  const again = await ask(caller, dialect, false);
  // The body differs by `stream` from the first one, which was not stored: it is not a conflict.
  expect(again.status).toBe(200);
  expect(again.headers.has("idempotent-replayed")).toBe(false);
  await again.text();
  await world.settled();
}

for (const dialect of ["chat", "responses", "messages"] as const) {
  describe.each(Object.entries(faults))(`a charge for ${dialect} that %s`, (_name, settle) => {
    test("ends a stream with its in-band error and not with its end", async () => {
      const caller = await world.creditCaller();
      breakSettling(settle);
      world.provider.script(streamAnswer(dialect, { text, usage: usageOf(dialect, 10, 10) }));
      const { text: received, failure } = await readStream(await ask(caller, dialect, true));
      expect(failure).toBeNull();
      expect(received).toContain(inBandError[dialect]);
      expect(received).not.toContain(properEnd[dialect]);
      expect(received).not.toContain("canary");
      await expectClosed(caller, dialect, "failed");
    });

    test("ends a stream that the provider has cut", async () => {
      const caller = await world.creditCaller();
      breakSettling(settle);
      world.provider.script(beginning(dialect, [{ reset: true }]));
      const { text: received, failure } = await readStream(await ask(caller, dialect, true));
      expect(failure).toBeNull();
      expect(received).toContain(inBandError[dialect]);
      // What could not be charged is not shown either.
      expect(received).not.toMatch(/message_delta|"output_tokens"/);
      await expectClosed(caller, dialect, "failed");
    });

    test("ends a stream that its client has left", async () => {
      const caller = await world.creditCaller();
      breakSettling(settle);
      world.provider.script(beginning(dialect, [{ stall: true }]));
      const reader = new StreamReader(await ask(caller, dialect, true));
      await reader.until(" keep");
      await reader.cancel();
      await waitFor(() => world.provider.aborted.length === 1, "the provider to be left");
      await expectClosed(caller, dialect, "cancelled");
    });

    test("ends a whole answer with 500", async () => {
      const caller = await world.creditCaller();
      breakSettling(settle);
      world.provider.script(wholeAnswer(dialect, { text, usage: usageOf(dialect, 10, 10) }));
      const response = await ask(caller, dialect, false);
      expect(response.status).toBe(500);
      expect(await response.text()).not.toContain("canary");
      await expectClosed(caller, dialect, "failed");
    });

    test("ends a whole answer that comes for a stream with 500", async () => {
      const caller = await world.creditCaller();
      breakSettling(settle);
      world.provider.script(wholeAnswer(dialect, { text, usage: usageOf(dialect, 10, 10) }));
      const response = await ask(caller, dialect, true);
      expect(response.status).toBe(500);
      await expectClosed(caller, dialect, "failed");
    });
  });
}

test("a stream whose progress cannot be journaled ends with its in-band error", async () => {
  const caller = await world.creditCaller();
  Object.assign(world.gateway.accounts, {
    progress: () => {
      throw broken;
    },
  });
  world.provider.script(beginning("chat", [{ stall: true }]));
  const { text: received, failure } = await readStream(await ask(caller, "chat", true));
  expect(failure).toBeNull();
  expect(received).toContain(inBandError.chat);
  await expectClosed(caller, "chat", "failed");
});

test("a stream whose response cannot be made is a 500 that leaves nothing behind", async () => {
  const caller = await world.creditCaller();
  Object.defineProperty(world.gateway.claims, "record", {
    configurable: true,
    value: () => {
      throw broken;
    },
  });
  world.provider.script(streamAnswer("chat", { text, usage: usageOf("chat", 10, 10) }));
  const response = await ask(caller, "chat", true);
  Reflect.deleteProperty(world.gateway.claims, "record");
  expect(response.status).toBe(500);
  await expectClosed(caller, "chat", "failed");
});

test("why an exchange did not complete is written once, with its charge, and nothing of one that did", async () => {
  const [settle, take] = [spyOn(world.gateway.accounts, "settle"), spyOn(world.gateway.requestLog, "take")];
  const endings = () => settle.mock.calls.map(([, { outcomeRecord }]) => outcomeRecord?.outcome ?? null);
  const caller = await world.creditCaller();
  world.provider.script(streamAnswer("chat", { text, usage: usageOf("chat", 10, 10) }));
  await readStream(await ask(caller, "chat", true));
  await world.settled();
  world.provider.script(beginning("messages", [{ reset: true }]));
  await readStream(await ask(await world.creditCaller(), "messages", true));
  await world.settled();
  expect(endings()).toEqual([null, "failed"]);
  expect(take).not.toHaveBeenCalled();
  for (const spy of [settle, take]) spy.mockRestore();
});

test("what a token budget's call would have cost is observed, as it is booked", async () => {
  const caller = await world.tokenCaller(1_000_000);
  world.provider.script(wholeAnswer("chat", { text, usage: usageOf("chat", 1000, 10) }));
  expect((await ask(caller, "chat", false)).status).toBe(200);
  await world.settled();
  const entries = await world.running.store.listEntries({ afterId: 0, limit: 10, keyId: caller.key.id });
  const [booked] = entries.flatMap(({ listCostNano }) => listCostNano ?? []);
  expect(booked).toBeGreaterThan(0);
  expect(world.observed.map(({ listCostNano }) => listCostNano)).toEqual([booked ?? 0]);
});
