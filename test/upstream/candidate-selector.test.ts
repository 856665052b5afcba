import { beforeEach, describe, expect, test } from "bun:test";
import type { Candidate } from "../../src/upstream/health/deployment-state.ts";
import { AttemptState } from "../../src/upstream/selection/attempt-state.ts";
import { CandidateSelector } from "../../src/upstream/selection/candidate-selector.ts";
import { Directory, releaseSlot, tryTakeSlot } from "../../src/upstream/selection/directory.ts";
import { createProvider } from "../../src/vendors/registry.ts";
import { FakeClock } from "../support/clock.ts";
import { waitFor } from "../support/wait.ts";
import { modelsAt, nobody, type Place, providersAt, setUp } from "./fixtures.ts";

const keyId = "key_a";

let clock: FakeClock;
let selector: CandidateSelector;
beforeEach(() => {
  clock = new FakeClock();
  selector = new CandidateSelector(clock, () => 0);
});

/** Deployments in this order, and what one exchange that may use them needs. */
function exchangeAt(...more: readonly Partial<Place>[]) {
  const places = more.map((place, priority) => ({ url: nobody, priority, ...place }));
  const settings = { models: modelsAt(places, []), providers: providersAt(places) };
  const directory = new Directory(settings, (each) => createProvider(each, {}), Math.random);
  const leaving = new AbortController();
  const plan = { ...setUp(places).plan({ signal: leaving.signal }), isOver: false };
  const candidates = directory.order(plan, 0);
  const state = new AttemptState(candidates);
  const [first, second] = candidates;
  if (first === undefined) throw new Error("there is a deployment");
  return {
    ...{ plan, state, first, second: second ?? first, leaving },
    next: () => selector.next(plan, state, clock.monotonicMs()),
  };
}

/** Its calls have failed for two keys, so its breaker is open. */
function open({ state: { breaker } }: Candidate): void {
  for (const failing of ["key_b", "key_c", "key_b", "key_c", "key_b", "key_c"])
    breaker.failed(clock.monotonicMs(), { keyId: failing, evidence: "provider", isProbe: false });
  expect(breaker.state(clock.monotonicMs())).toBe("open");
}

const limited = { maxConcurrent: 1 } as const;

describe("while no call can be made, a request", () => {
  test("waits for a slot of the first deployment that is full", async () => {
    const { next, first, second } = exchangeAt(limited, limited);
    for (const each of [first, second]) expect(tryTakeSlot(each)).toBe(true);
    const choice = next();
    expect(second.gate?.waiting).toBe(0);
    releaseSlot(first);
    expect(await choice).toBe(first);
  });

  test("waits for a full deployment before one that has asked for a pause", async () => {
    const { next, first, second } = exchangeAt(limited, {});
    expect(tryTakeSlot(first)).toBe(true);
    second.state.breaker.coolDowns.begin(0, 1, keyId);
    const choice = next();
    await waitFor(() => first.gate?.waiting === 1, "the request to wait");
    releaseSlot(first);
    expect(await choice).toBe(first);
  });

  test("gives up, and its slot back, if the provider asks for a long pause meanwhile", async () => {
    const { next, first, state } = exchangeAt(limited);
    expect(tryTakeSlot(first)).toBe(true);
    const choice = next();
    first.state.breaker.coolDowns.begin(0, 30_000, keyId);
    state.busyCandidate = null;
    releaseSlot(first);
    expect(await choice).toBeNull();
    expect(first.gate?.inside).toBe(0);
    expect(state.error().retryAfterSeconds).toBe(30);
  });

  test("gives its slot back if its client disconnects as it gets it", async () => {
    const { next, first, plan, state } = exchangeAt(limited);
    expect(tryTakeSlot(first)).toBe(true);
    const choice = next();
    plan.isOver = true;
    releaseSlot(first);
    expect(await choice).toBeNull();
    expect(first.gate?.inside).toBe(0);
    expect(state.finalFailure?.kind).toBe("cancelled");
  });

  test("probes an open breaker when it gets its slot", async () => {
    const { next, first, state } = exchangeAt(limited);
    open(first);
    clock.advance(10_000);
    expect(tryTakeSlot(first)).toBe(true);
    const choice = next();
    expect(state.isProbe).toBe(true);
    state.isProbe = false;
    releaseSlot(first);
    expect(await choice).toBe(first);
    expect(state.isProbe).toBe(true);
  });

  test("waits once", async () => {
    const { next, first } = exchangeAt({});
    first.state.breaker.coolDowns.begin(0, 1, keyId);
    const choice = next();
    clock.advance(1);
    expect(await choice).toBe(first);
    first.state.breaker.coolDowns.begin(clock.monotonicMs(), 1, keyId);
    const again = next();
    clock.advance(1);
    expect(await again).toBeNull();
  });

  test("waits for short pauses up to two seconds in all, and then ignores the next one", async () => {
    const { next, first } = exchangeAt({});
    const { coolDowns } = first.state.breaker;
    coolDowns.begin(0, 1, keyId);
    let asked = 0;
    const leftMs = coolDowns.leftMs.bind(coolDowns);
    // Each time that it looks, the provider has asked for another second.
    coolDowns.leftMs = (nowMs, key) => {
      asked += 1;
      return asked > 10 ? leftMs(nowMs, key) : 900;
    };
    const choice = next();
    clock.advance(1);
    expect(await choice).toBe(first);
    expect(asked).toBeLessThan(10);
  }, 20_000);

  test("is not kept waiting by a pause that its client does not wait for", async () => {
    const { next, first, leaving, state } = exchangeAt({});
    first.state.breaker.coolDowns.begin(0, 1_000, keyId);
    const choice = next();
    await waitFor(() => first.state.waitingForCoolDown === 1, "the request to wait");
    leaving.abort();
    expect(await choice).toBeNull();
    expect(first.state.waitingForCoolDown).toBe(0);
    expect(state.coolingCandidate).toBe(first);
  });
});

describe("after an attempt that failed, a request", () => {
  test("does not ignore breakers", async () => {
    const { next, first, second, state } = exchangeAt({}, {});
    open(second);
    expect(await next()).toBe(first);
    state.attemptBegins(first, false);
    expect(await next()).toBeNull();
  });

  test("does not wait for a full deployment", async () => {
    const { next, first, second, state } = exchangeAt({}, limited);
    expect(tryTakeSlot(second)).toBe(true);
    expect(await next()).toBe(first);
    state.attemptBegins(first, false);
    const choice = next();
    releaseSlot(second);
    expect(await choice).toBeNull();
    expect(second.gate?.inside).toBe(0);
  });

  test("retries once, and not if that failure was final, there were enough, or its client disconnects", async () => {
    const retried = async (change: (exchange: ReturnType<typeof exchangeAt>) => void) => {
      const exchange = exchangeAt(limited);
      const { next, first, state } = exchange;
      expect(await next()).toBe(first);
      releaseSlot(first);
      state.attemptBegins(first, false);
      state.retryCandidate = first;
      const choice = Promise.resolve().then(next);
      change(exchange);
      const found = await choice;
      expect(first.gate?.inside).toBe(found === null ? 0 : 1);
      return { found, state, first };
    };
    const { found, first } = await retried(() => {});
    expect(found).toBe(first);
    const failure = { kind: "cancelled" } as NonNullable<AttemptState["finalFailure"]>;
    expect((await retried(({ state }) => Object.assign(state, { finalFailure: failure }))).found).toBeNull();
    expect((await retried(({ state }) => Object.assign(state, { attempts: 5 }))).found).toBeNull();
    const left = await retried(({ leaving }) => leaving.abort());
    expect([left.found, left.state.finalFailure?.kind]).toEqual([null, "cancelled"]);
  });

  test("goes to the same deployment again only if that has a slot", () => {
    const { first, state } = exchangeAt(limited);
    expect(tryTakeSlot(first)).toBe(true);
    expect([selector.tryAgain(first, state), state.nextCandidate]).toEqual([false, null]);
    releaseSlot(first);
    expect([selector.tryAgain(first, state), state.nextCandidate]).toEqual([true, first]);
  });

  test("goes to another key of the same deployment only if that has a slot", async () => {
    const { next, first, state } = exchangeAt(limited);
    expect(tryTakeSlot(first)).toBe(true);
    expect(selector.tryOtherKey(first, state)).toBe(false);
    expect([state.nextCandidate, state.isOtherKey]).toEqual([null, false]);
    releaseSlot(first);
    expect(selector.tryOtherKey(first, state)).toBe(true);
    expect([state.nextCandidate, state.isOtherKey, first.gate?.inside]).toEqual([first, true, 1]);
    expect(await next()).toBe(first);
    expect([state.nextCandidate, state.isOtherKey]).toEqual([null, false]);
  });
});

describe("the retry budget", () => {
  /** Whether an exchange whose first attempt has failed may begin another one. */
  const retries = async () => {
    const { next, state } = exchangeAt({});
    state.attempts = 1;
    const candidate = await next();
    return candidate !== null && selector.beginAttempt(candidate, state);
  };
  const exhausted = async () => {
    for (let retry = 0; retry < 50; retry += 1) expect(await retries()).toBe(true);
  };

  test("is a share of the exchanges that were counted", async () => {
    for (let exchange = 0; exchange < 1000; exchange += 1) selector.countExchange(clock.monotonicMs());
    let begun = 0;
    for (let retry = 0; retry < 300; retry += 1) if (await retries()) begun += 1;
    expect(begun).toBe(200);
  });

  test("that is used up ends the order, and takes no slot", async () => {
    await exhausted();
    const { next, first, second, state } = exchangeAt(limited, limited);
    state.attempts = 1;
    expect(await next()).toBeNull();
    clock.advance(60_000);
    expect(await next()).toBeNull();
    expect([first.gate?.inside, second.gate?.inside]).toEqual([0, 0]);
  });

  test("is not used by a deployment that was selected and never called", async () => {
    for (let selected = 0; selected < 60; selected += 1) {
      const { next, first, state } = exchangeAt({});
      state.attempts = 1;
      expect(await next()).toBe(first);
    }
    await exhausted();
  });

  test("that others have used up meanwhile ends the order, and keeps no slot", async () => {
    const { next, first, second, state } = exchangeAt(limited, limited);
    state.attempts = 1;
    expect(await next()).toBe(first);
    await exhausted();
    expect(selector.beginAttempt(first, state)).toBe(false);
    expect(await next()).toBeNull();
    expect([first.gate?.inside, second.gate?.inside]).toEqual([0, 0]);
  });

  test("that is used up allows no attempt with another key, and keeps no slot for it", async () => {
    await exhausted();
    const { first, state } = exchangeAt(limited);
    state.attempts = 1;
    expect(selector.tryOtherKey(first, state)).toBe(false);
    expect([state.nextCandidate, state.isOtherKey, first.gate?.inside]).toEqual([null, false, 0]);
  });
});
