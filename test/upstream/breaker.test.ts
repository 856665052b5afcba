import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { Breaker, type FailureEvidence } from "../../src/upstream/health/breaker.ts";
import type { GenerationPlan } from "../../src/upstream/upstream.ts";
import { type Answer, cutAfter, hangUp, json, openAiError, silence, text } from "../support/answers.ts";
import { FakeClock } from "../support/clock.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";
import { nobody, outcomeOf, type Place, prepared, type SetupOptions, setUp } from "./fixtures.ts";

let first: ScriptedProvider;
let spare: ScriptedProvider;
let clock: FakeClock;

const good = json({ id: "x" });
/** An answer of no use, which is not asked for a second time. */
const broken = text("<html>", "text/html");

beforeEach(() => {
  first = startProvider(good);
  spare = startProvider(good);
  clock = new FakeClock();
});

afterEach(() => {
  first.stop();
  spare.stop();
});

/** A deployment that may fail, and another that is asked when it does. */
function withSpare(place: Partial<Place> = {}, options: SetupOptions = {}) {
  const places = [
    { url: first.url, ...place },
    { url: spare.url, priority: 2 },
    { url: first.url, provider: "p0", upstreamModel: "sibling", model: "sibling" },
  ];
  const { upstream, plan } = setUp(places, { clock, ...options });
  return {
    ask: (keyId = "key_a", changes: Partial<GenerationPlan> = {}) =>
      outcomeOf(upstream.open(plan({ keyId, ...changes }))),
    open: (changes: Parameters<typeof plan>[0] = {}) => upstream.open(plan(changes)),
    health: () => upstream.health()[0],
  };
}

type World = ReturnType<typeof withSpare>;

/** Two keys in turn; every call is answered by the spare one. */
async function askInTurn({ ask }: World, calls: number): Promise<void> {
  for (let call = 0; call < calls; call += 1) {
    expect(await ask(call % 2 === 0 ? "key_a" : "key_b")).toBe("answered");
  }
}

/** A world whose first deployment has failed, and may be tried again by one call. */
async function halfOpen(place: Partial<Place> = {}): Promise<World> {
  first.script(broken);
  const world = withSpare(place);
  await askInTurn(world, 5);
  expect(world.health()?.state).toBe("open");
  clock.advance(5000);
  expect(world.health()?.state).toBe("half_open");
  first.reset();
  first.script(good);
  return world;
}

describe("a breaker opens", () => {
  test("after five failures in a row of two keys, and nobody is sent there for a while", async () => {
    first.script(broken);
    const world = withSpare();
    await askInTurn(world, 4);
    expect(world.health()).toMatchObject({ state: "closed", consecutiveFailures: 4 });
    await askInTurn(world, 1);
    expect(world.health()).toMatchObject({ state: "open", waitMs: 5000, consecutiveFailures: 5 });
    await askInTurn(world, 3);
    expect(first.requests).toHaveLength(5);
  });

  test("when half of the calls of two keys fail, although never many in a row", async () => {
    first.script((request) => (Math.floor(first.requests.indexOf(request) / 2) % 2 === 0 ? broken : good));
    const world = withSpare();
    await askInTurn(world, 10);
    expect(world.health()?.state).toBe("open");
  });

  test("on connections that are refused, whoever asks", async () => {
    const { ask, health } = withSpare({ url: nobody });
    for (let call = 0; call < 5; call += 1) expect(await ask()).toBe("answered");
    expect(health()?.state).toBe("open");
  });

  test("on time-outs, whoever asks", async () => {
    first.script(silence());
    const { upstream, plan } = setUp([
      { url: first.url, timeouts: { firstByteMs: 20 } },
      { url: spare.url, priority: 2 },
    ]);
    for (let call = 0; call < 5; call += 1) {
      expect(await outcomeOf(upstream.open(plan()))).toBe("502 upstream_error");
    }
    expect(upstream.health()[0]?.state).toBe("open");
    expect(await outcomeOf(upstream.open(plan()))).toBe("answered");
  });

  test("on streams of two keys that break off after they have begun", async () => {
    first.script(cutAfter(answerFrom("chat/text.sse"), 800, [{ stall: true }]));
    const { open, health } = withSpare();
    for (const keyId of ["key_a", "key_b", "key_a", "key_b"]) {
      (await open({ stream: true, keyId })).finished("failed");
    }
    expect(health()).toMatchObject({ state: "closed", recentCalls: 4, recentFailures: 4 });
    for (const keyId of ["key_a", "key_b"]) {
      for (let stream = 0; stream < 3; stream += 1) {
        const opened = await open({ stream: true, keyId });
        if (opened.deployment.name === "p0/real") opened.finished("failed");
        else opened.finished("cancelled");
      }
    }
    expect(health()?.state).toBe("open");
  });
});

describe("a breaker stays closed", () => {
  const provoked: readonly [string, Answer][] = [
    ["500", openAiError(500, "I cannot digest this")],
    ["a connection that is closed without an answer", hangUp()],
    ["nonsense", broken],
    ["an error in a 200", openAiError(200, "oops")],
    ["401", openAiError(401, "who are you")],
    ["503", openAiError(503, "busy")],
  ];
  for (const [what, answer] of provoked) {
    test(`when one key alone provokes ${what}`, async () => {
      first.script(({ text: body }) => (body === "poison" ? answer : good));
      const { ask, health, open } = withSpare();
      const poison = { prepare: () => prepared({ body: "poison" }) };
      for (let call = 0; call < 12; call += 1) expect(await ask("key_evil", poison)).toBe("answered");
      expect(health()?.state).toBe("closed");
      const opened = await open({ keyId: "key_good" });
      expect(opened.deployment.name).toBe("p0/real");
      opened.finished("completed");
    });
  }

  test("when one key fails and a failure of another is the exception", async () => {
    first.script(({ text: body }) => (body === "poison" ? broken : good));
    const { ask, health } = withSpare();
    const poison = { prepare: () => prepared({ body: "poison" }) };
    for (let call = 0; call < 8; call += 1) await ask("key_good");
    for (let call = 0; call < 4; call += 1) await ask("key_evil", poison);
    await ask("key_good");
    await ask("key_good", poison);
    await ask("key_good");
    for (let call = 0; call < 10; call += 1) await ask("key_evil", poison);
    expect(health()?.state).toBe("closed");
  });

  for (const status of [400, 403, 404, 405, 409, 413, 415, 418, 422, 424, 431, 451]) {
    test(`on ${status}, which a request can cause, also of many keys`, async () => {
      first.script(openAiError(status, "not like this"));
      const { ask, health } = withSpare();
      for (let call = 0; call < 24; call += 1) await ask(`key_${call % 4}`);
      expect(health()).toMatchObject({ state: "closed", inFlight: 0 });
    });
  }

  test("on an invalid request that is told within a 200", async () => {
    first.script(json({ error: { type: "invalid_request_error", message: "no" } }));
    const { ask, health } = withSpare();
    for (let call = 0; call < 12; call += 1) await ask(`key_${call % 4}`);
    expect(health()).toMatchObject({ state: "closed", recentFailures: 0 });
  });

  test("when clients leave", async () => {
    first.script(silence());
    const { ask, health } = withSpare();
    for (let call = 0; call < 12; call += 1) await ask(`key_${call}`, { signal: AbortSignal.timeout(2) });
    expect(health()).toMatchObject({ state: "closed", recentFailures: 0, inFlight: 0 });
  });
});

describe("a deployment that has failed", () => {
  test("is tried by one call at a time, and is well again when that one is answered", async () => {
    const world = await halfOpen();
    const hold = Promise.withResolvers<void>();
    first.script({ ...good, before: [{ until: hold.promise }] });
    const probe = world.ask();
    await waitFor(() => first.requests.length === 1, "the probe");
    await askInTurn(world, 4);
    expect(first.requests).toHaveLength(1);
    hold.resolve();
    expect(await probe).toBe("answered");
    expect(world.health()).toMatchObject({ state: "closed", consecutiveFailures: 0 });
  });

  test("is left alone for twice as long when the probes of two keys fail", async () => {
    const world = await halfOpen();
    first.script(broken);
    await world.ask("key_a");
    expect(world.health()).toMatchObject({ state: "open", waitMs: 5000 });
    await world.ask("key_b");
    expect(world.health()).toMatchObject({ state: "open", waitMs: 10_000 });
    await askInTurn(world, 4);
    expect(first.requests).toHaveLength(2);
  });

  test("is not kept shut by one key whose probes fail", async () => {
    const world = await halfOpen();
    first.script([broken, good]);
    await world.ask("key_evil");
    await world.ask("key_evil");
    expect(first.requests).toHaveLength(1);
    expect(await world.ask("key_good")).toBe("answered");
    expect(first.requests).toHaveLength(2);
    expect(world.health()?.state).toBe("closed");
  });

  test("is left alone for twice as long when the probe's connection is refused", async () => {
    const world = await halfOpen();
    first.stop();
    await world.ask();
    expect(world.health()).toMatchObject({ state: "open", waitMs: 10_000 });
  });
});

describe("the next call may try when the probe", () => {
  /** The next call is a probe again, and is answered by the deployment that was in doubt. */
  async function expectNextProbe(world: World): Promise<void> {
    first.reset();
    first.script(good);
    expect(await world.ask("key_a")).toBe("answered");
    expect(first.requests).toHaveLength(1);
    expect(world.health()).toMatchObject({ state: "closed", inFlight: 0 });
  }

  for (const status of [400, 404, 418, 422]) {
    test(`was answered ${status}`, async () => {
      const world = await halfOpen();
      first.script(openAiError(status, "bad"));
      await world.ask("key_b");
      expect(first.requests).toHaveLength(1);
      await expectNextProbe(world);
    });
  }

  test("could not be prepared", async () => {
    const world = await halfOpen({ maxConcurrent: 1, providerMaxConcurrent: 1 });
    for (const error of [new GatewayError("invalid_request", "cannot be said"), new Error("a bug")]) {
      const prepare = () => {
        throw error;
      };
      await expect(world.open({ prepare })).rejects.toBe(error);
    }
    await expectNextProbe(world);
  });

  test("was left by its client", async () => {
    const world = await halfOpen();
    first.script(silence());
    const leaving = new AbortController();
    const probe = world.ask("key_a", { signal: leaving.signal });
    await waitFor(() => first.requests.length === 1, "the probe");
    leaving.abort();
    await probe;
    await expectNextProbe(world);
  });

  test("found the provider full", async () => {
    const world = await halfOpen({ providerMaxConcurrent: 1 });
    first.script(silence());
    const leaving = new AbortController();
    const sibling = outcomeOf(world.open({ modelId: "sibling", signal: leaving.signal }));
    await waitFor(() => first.requests.length === 1, "the provider's only place to be taken");
    await askInTurn(world, 2);
    expect(first.requests).toHaveLength(1);
    leaving.abort();
    await sibling;
    await expectNextProbe(world);
  });

  test("was refused with more keys than may be tried", async () => {
    const apiKeys = ["1", "2", "3", "4", "5", "6", "7"];
    const world = await halfOpen({ apiKeys });
    first.script(openAiError(401, "who are you"));
    await world.ask();
    expect(first.requests).toHaveLength(5);
    await expectNextProbe(world);
  });

  test("was refused with one of several keys just as its client left", async () => {
    const world = await halfOpen({ apiKeys: ["1", "2"] });
    const leaving = new AbortController();
    first.script(() => {
      leaving.abort();
      return openAiError(401, "who are you");
    });
    expect(await world.ask("key_a", { signal: leaving.signal })).toBe("502 upstream_error");
    await expectNextProbe(world);
  });

  test("was asked to come back later", async () => {
    const world = await halfOpen();
    first.script(openAiError(429, "slow down", null, { "retry-after": "3" }));
    await world.ask();
    clock.advance(3000);
    await expectNextProbe(world);
  });
});

test("a probe that is tried with another key of the pool is still the only one", async () => {
  const world = await halfOpen({ apiKeys: ["1", "2"] });
  const hold = Promise.withResolvers<void>();
  first.script([openAiError(401, "who are you"), { ...good, before: [{ until: hold.promise }] }]);
  const probe = world.ask();
  await waitFor(() => first.requests.length === 2, "the probe with the other key");
  await askInTurn(world, 4);
  expect(first.requests).toHaveLength(2);
  hold.resolve();
  expect(await probe).toBe("answered");
});

describe("a deployment that is well again", () => {
  const nowMs = 1_000_000;
  const failed = (breaker: Breaker, keyId: string, evidence: FailureEvidence = "provider", isProbe = false) =>
    breaker.failed(nowMs, { keyId, evidence, isProbe });

  /** It has failed for two keys, and was tried once with success. */
  function recovered(before: (breaker: Breaker) => void = () => undefined): Breaker {
    const breaker = new Breaker();
    before(breaker);
    for (const keyId of ["a", "b", "a", "b", "a"]) failed(breaker, keyId);
    expect(breaker.state(nowMs)).toBe("open");
    breaker.answered(nowMs, "c");
    expect(breaker.state(nowMs)).toBe("closed");
    return breaker;
  }

  /** Eight of eleven calls fail, four for each of two keys, never many in a row. */
  function failForTwo(breaker: Breaker): void {
    for (const keyId of ["a", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b"]) {
      if (keyId === "c") breaker.answered(nowMs, keyId);
      else failed(breaker, keyId);
    }
  }

  test("is not condemned for what it did before", () => {
    const breaker = recovered();
    for (const keyId of ["a", "b", "a", "b"]) failed(breaker, keyId);
    expect(breaker.state(nowMs)).toBe("closed");
    expect(breaker.recent(nowMs)).toEqual({ calls: 5, failures: 4 });
  });

  test("is condemned as soon as any other, whoever had failed before", () => {
    const breaker = recovered();
    failForTwo(breaker);
    expect(breaker.state(nowMs)).toBe("open");
  });

  test("is condemned as soon as any other, whatever was unclear before", () => {
    const breaker = recovered((it) => {
      for (const keyId of ["d", "e", "d", "e"]) failed(it, keyId, "unclear");
    });
    failForTwo(breaker);
    expect(breaker.state(nowMs)).toBe("open");
  });
});

test("a call from before the failures frees nobody else's probe, and fails nobody else's", async () => {
  for (const late of [openAiError(400, "bad"), broken]) {
    const hold = Promise.withResolvers<void>();
    first.script({ ...late, before: [{ until: hold.promise }] });
    const world = withSpare();
    const early = world.ask("key_c");
    await waitFor(() => first.requests.length === 1, "the early call");
    first.script(broken);
    await askInTurn(world, 5);
    clock.advance(5000);
    const probing = Promise.withResolvers<void>();
    first.script({ ...good, before: [{ until: probing.promise }] });
    const probe = world.ask("key_d");
    await waitFor(() => first.requests.length === 7, "the probe");
    hold.resolve();
    await early;
    await askInTurn(world, 2);
    expect(first.requests).toHaveLength(7);
    probing.resolve();
    expect(await probe).toBe("answered");
    expect(world.health()?.state).toBe("closed");
    first.reset();
  }
});
