import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { ReportedUsage } from "../../src/base/usage/usage.ts";
import type { CostMeter } from "../../src/gateway/charge/cost-meter.ts";
import { ProducedOutput } from "../../src/gateway/charge/usage-evidence.ts";
import { endExchange } from "../../src/gateway/exchange/end-exchange.ts";
import { Exchange } from "../../src/gateway/exchange/exchange.ts";
import { clientOrigin } from "../../src/gateway/exchange/origin.ts";
import type { GuardedStream } from "../../src/gateway/exchange/watchdog.ts";
import { routes } from "../../src/gateway/operations.ts";
import { rejectUnreadable } from "../../src/gateway/response/client-response.ts";
import type { Deployment } from "../../src/upstream/upstream.ts";
import { charged } from "./charged.ts";
import { type Caller, World } from "./world.ts";

/** The frame around money, used by a route that is none of the interface's. */
let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterEach(() => {
  world.observed.length = 0;
});
afterAll(() => world[Symbol.asyncDispose]());

const requestBytes = new TextEncoder().encode('{"input":"Hello"}');
const used: ReportedUsage = {
  inputTokens: 7,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};
const nothingCharged: never[] = [];
const sevenCharged = [{ amount: -7, basis: "measured", outcome: "completed" } as const];

class Asked {
  readonly exchange: Exchange;
  readonly caller: Caller;

  constructor(caller: Caller) {
    const route = routes.find(({ mode, isCharged }) => mode === "token_budget" && isCharged);
    if (route === undefined) throw new Error("there is no such route");
    this.exchange = new Exchange(
      {
        request: new Request("http://localhost/v1/embeddings", { method: "POST" }),
        route,
        address: "127.0.0.1",
        origin: clientOrigin,
        isForwarded: false,
        keepWaiting: () => undefined,
        disconnect: () => undefined,
      },
      world.gateway,
    );
    this.caller = caller;
    this.exchange.key = caller.key;
  }

  run<Answer>(work: (meter: CostMeter) => Promise<Answer>, outputTokens = 0): Promise<Answer> {
    const { exchange, caller } = this;
    const model = exchange.configured.catalog.find("gpt-test");
    if (model === undefined) throw new Error("there is no such model");
    exchange.model = model;
    const atMost = { input: 20, output: outputTokens };
    const priced = { key: caller.key, model, requestedModel: null, extras: null };
    const wanted = { ...priced, atMost, usual: atMost, storedInput: 0, requestBytes };
    return charged(world.gateway, exchange, { ...wanted, canBeCounted: true }, work);
  }

  end(outcome: "completed" | "failed" | "cancelled"): void {
    endExchange(world.gateway, this.exchange, { status: 200, outcome, error: null });
  }
}

async function ask(): Promise<Asked> {
  return new Asked(await world.tokenCaller(100));
}

function settle(meter: CostMeter): Promise<unknown> {
  const evidence = { usage: used, partialUsage: null, produced: () => new ProducedOutput(), requestBytes };
  return meter.settle("completed", evidence, 200, null);
}

function idlePump(): GuardedStream {
  return { isStalled: false, check() {}, interrupt() {} };
}

function held(): number {
  return world.gateway.accounts.openHolds;
}

function remaining({ taken: { hold } }: Exchange): number | null {
  return hold && world.gateway.accounts.remaining(hold);
}

describe("what is charged", () => {
  test("is held while it runs, and settled for what was used", async () => {
    const asked = await ask();
    const answer = await asked.run(async (meter) => {
      expect(held()).toBe(1);
      // Its input is counted, because the hold is much of what there is.
      expect(remaining(asked.exchange)).toBe(95);
      await settle(meter);
      return "vectors";
    });
    expect(answer).toBe("vectors");
    expect(asked.exchange.charged).toBe(7);
    expect(held()).toBe(0);
    asked.end("completed");
    expect(await world.chargesOf(asked.caller)).toEqual(sevenCharged);
  });

  test("is refused before anything runs where it does not fit", async () => {
    const asked = await ask();
    let hasRun = false;
    const running = asked.run(async () => {
      hasRun = true;
    }, 1000);
    expect(await running.catch((error) => error)).toMatchObject({ code: "insufficient_credit" });
    expect(hasRun).toBe(false);
    expect(held()).toBe(0);
    expect(await world.chargesOf(asked.caller)).toEqual(nothingCharged);
  });

  test("is given back when the work fails, at once or later", async () => {
    const failure = new GatewayError("upstream_error", "The provider failed.");
    const works = [
      () => {
        throw failure;
      },
      async () => {
        await Bun.sleep(1);
        throw failure;
      },
    ];
    for (const work of works) {
      const asked = await ask();
      expect(await asked.run(work).catch((error) => error)).toBe(failure);
      expect(held()).toBe(0);
      expect(await world.chargesOf(asked.caller)).toEqual(nothingCharged);
    }
  });

  test("stays charged, once, when the work fails after it was settled", async () => {
    const asked = await ask();
    const running = asked.run(async (meter) => {
      await settle(meter);
      await settle(meter);
      meter.release();
      throw new GatewayError("internal_error", "The response could not be made.");
    });
    expect(await running.catch((error) => error)).toMatchObject({ code: "internal_error" });
    asked.end("failed");
    expect(await world.chargesOf(asked.caller)).toEqual(sevenCharged);
  });

  test("cannot be left open by work that has ended", async () => {
    const asked = await ask();
    const forgetful = asked.run(async () => "vectors");
    expect(await forgetful.catch(String)).toContain("an answer leaves unpaid");
    expect(held()).toBe(0);
    expect(await world.chargesOf(asked.caller)).toEqual(nothingCharged);
  });

  test("of a stream stays held until its pump settles it", async () => {
    const asked = await ask();
    const pump = idlePump();
    const meter = await asked.run(async (open) => {
      asked.exchange.pump = pump;
      world.gateway.watchdog.watch(pump);
      return open;
    });
    expect(held()).toBe(1);
    await settle(meter);
    asked.end("completed");
    expect(await world.chargesOf(asked.caller)).toEqual(sevenCharged);
  });

  test("of a stream is given back at its end if nothing settled it", async () => {
    const asked = await ask();
    const pump = idlePump();
    const meter = await asked.run(async (open) => {
      asked.exchange.pump = pump;
      world.gateway.watchdog.watch(pump);
      return open;
    });
    asked.end("cancelled");
    expect(held()).toBe(0);
    expect(world.gateway.watchdog.size).toBe(0);
    await settle(meter);
    expect(await world.chargesOf(asked.caller)).toEqual(nothingCharged);
  });

  test("is held once in an exchange", async () => {
    const asked = await ask();
    await asked.run(settle);
    expect(await asked.run(settle).catch(String)).toContain("an exchange has one hold");
    asked.end("completed");
    expect(await world.chargesOf(asked.caller)).toEqual(sevenCharged);
  });
});

describe("a provider's figures", () => {
  const window = 50;
  const cases = [
    { what: "that fill the window", usage: { inputTokens: window, outputTokens: 3 }, charged: window + 3 },
    // The smaller of what is reported and what was held for: 20 of input, 200 of output.
    { what: "above the window", usage: { inputTokens: window + 1, outputTokens: 3 }, guessed: 20 + 3 },
    { what: "of several choices", usage: { inputTokens: 7, outputTokens: 200 }, charged: 207 },
    { what: "above all choices", usage: { inputTokens: 7, outputTokens: 201 }, guessed: 207 },
  ];
  test.each(cases)("$what cost $charged, or $guessed", async ({ usage, charged: believed, guessed }) => {
    const asked = new Asked(await world.tokenCaller(1000));
    asked.exchange.attempts.deployment = deploymentWith(window);
    await asked.run(async (meter) => {
      const evidence = { partialUsage: null, produced: () => new ProducedOutput(), requestBytes };
      await meter.settle("completed", { ...evidence, usage: { ...used, ...usage } }, 200, null);
    }, 200);
    expect(asked.exchange.charge?.basis).toBe(believed === undefined ? "estimated" : "measured");
    expect(asked.exchange.charged).toBe(believed ?? guessed ?? 0);
    asked.end("completed");
  });
});

test("what a crash would be charged for is reported, or counted low if that is more, and never more than a cancel", async () => {
  const produced = new ProducedOutput();
  produced.add("Sluices keep the canal navigable.");
  const nothing = new ProducedOutput();
  const reported = { ...used, outputTokens: 3 };
  const cases = [
    { usage: null, partialUsage: reported, produced: () => nothing, soFar: 7 + 3, charge: 7 + 3 },
    { usage: null, partialUsage: reported, produced: () => produced, soFar: 7 + 6, charge: 7 + 9 },
    { usage: null, partialUsage: null, produced: () => produced, soFar: 5 + 6, charge: 5 + 9 },
    { usage: reported, partialUsage: reported, produced: () => produced, soFar: 7 + 3, charge: 7 + 3 },
  ];
  for (const { charge, soFar, ...known } of cases) {
    const asked = await ask();
    const evidence = { ...known, requestBytes };
    await asked.run(async (meter) => {
      meter.progress(evidence, 40);
      expect(asked.exchange.taken.hold?.soFar?.cost).toBe(soFar);
      await meter.settle("cancelled", evidence, 200, null);
    }, 40);
    expect(asked.exchange.charged).toBe(charge);
    asked.end("cancelled");
  }
});

test("a client that has left is given nothing, unless it can come back for it", () => {
  const exchange = (isGone: boolean, claim: object | null) =>
    ({ taken: { claim }, call: { request: { signal: { aborted: isGone } } } }) as unknown as Exchange;
  expect(() => rejectUnreadable(exchange(true, null))).toThrow("disconnected before the response");
  expect(() => rejectUnreadable(exchange(true, {}))).not.toThrow();
  expect(() => rejectUnreadable(exchange(false, null))).not.toThrow();
});

/** As much of a deployment as a bill looks at. */
function deploymentWith(contextWindow: number): Deployment {
  const provider = { settings: { name: "p" } };
  return {
    model: { contextWindow },
    price: null,
    provider,
    upstreamModel: "m",
    shownModel: "m",
  } as unknown as Deployment;
}

describe("the end of an exchange", () => {
  test("is told once, and the first to end it says how", async () => {
    const asked = await ask();
    await asked.run(settle);
    asked.end("completed");
    asked.end("failed");
    expect(world.observed.map(({ outcome }) => outcome)).toEqual(["completed"]);
  });

  test("gives back its place and its claim", async () => {
    const asked = await ask();
    const { exchange, caller } = asked;
    const { gateway } = world;
    const scope = { keyId: caller.key.id, route: "/v1/embeddings", idempotencyKey: "once" };
    const claimed = await gateway.claims.claim({ ...scope, bodyHash: "0", exchangeId: exchange.id });
    if (claimed.kind === "run") exchange.taken.claim = claimed.claim;
    await gateway.ongoing.enter(exchange, caller.key.id);
    expect([gateway.claims.running, gateway.ongoing.size]).toEqual([1, 1]);
    asked.end("failed");
    asked.end("failed");
    expect([gateway.claims.running, gateway.ongoing.size]).toEqual([0, 0]);
  });

  test("as completed without a charge is a bug that is told, and leaves nothing behind", async () => {
    const asked = await ask();
    asked.exchange.pump = idlePump();
    await asked.run(async () => "a stream");
    expect(() => asked.end("completed")).toThrow("completed without a charge");
    expect(held()).toBe(0);
    expect(world.observed).toHaveLength(1);
  });
});
