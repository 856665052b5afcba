import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { GenerationPlan } from "../../src/upstream/upstream.ts";
import { type Answer, hangUp, json, openAiError, silence, text } from "../support/answers.ts";
import { FakeClock } from "../support/clock.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { seededRandom } from "../support/random.ts";
import { waitFor } from "../support/wait.ts";
import { nobody, outcomeOf, type Place, prepared, setUp } from "./fixtures.ts";

let provider: ScriptedProvider;

const good = json({ id: "x" });
const broken = text("<html>", "text/html");

function busyFor(headers: Readonly<Record<string, string>>): Answer {
  return openAiError(429, "slow down", null, headers);
}

beforeEach(() => {
  provider = startProvider(good);
});

afterEach(() => provider.stop());

function sole(place: Partial<Place> = {}) {
  const { upstream, plan } = setUp([{ url: provider.url, ...place }]);
  return {
    ask: (changes: Partial<GenerationPlan> = {}) => outcomeOf(upstream.open(plan(changes))),
    refusal: (changes: Partial<GenerationPlan> = {}) =>
      upstream.open(plan(changes)).catch((error: GatewayError) => error),
    health: () => upstream.health()[0],
  };
}

describe("a model without an alternative", () => {
  test("is asked by every request, also while its breaker is open", async () => {
    const { upstream, plan } = setUp([{ url: provider.url }], { clock: new FakeClock() });
    const ask = (keyId: string) => outcomeOf(upstream.open(plan({ keyId })));
    provider.script(broken);
    for (let call = 0; call < 8; call += 1) expect(await ask(`key_${call % 2}`)).toBe("502 upstream_error");
    expect(upstream.health()[0]?.state).toBe("open");
    expect(provider.requests).toHaveLength(8);
    provider.script(good);
    expect(await ask("key_0")).toBe("answered");
    expect(upstream.health()[0]?.state).toBe("closed");
  });

  test("is not closed to all by a provider that asks one key for a pause", async () => {
    const { upstream, plan } = setUp([{ url: provider.url }], { clock: new FakeClock() });
    const ask = (keyId: string) => outcomeOf(upstream.open(plan({ keyId })));
    provider.script(busyFor({ "retry-after": "60" }));
    expect(await ask("key_1")).toBe("503 service_unavailable");
    provider.script(good);
    expect(await ask("key_1")).toBe("503 service_unavailable");
    expect(provider.requests).toHaveLength(1);
    expect(await ask("key_2")).toBe("answered");
    provider.script(busyFor({ "retry-after": "60" }));
    expect(await ask("key_2")).toBe("503 service_unavailable");
    provider.script(good);
    // The provider rejected two keys, so the pause applies to all.
    expect(await ask("key_3")).toBe("503 service_unavailable");
    expect(provider.requests).toHaveLength(3);
  });

  for (const [first, second] of [
    [600, 1],
    [1, 600],
  ] as const) {
    test(`is closed to all only while two keys are asked for a pause: ${first} s and ${second} s`, async () => {
      const clock = new FakeClock();
      const { upstream, plan } = setUp([{ url: provider.url }], { clock });
      const ask = (keyId: string) => outcomeOf(upstream.open(plan({ keyId })));
      provider.script([first, second].map((seconds) => busyFor({ "retry-after": String(seconds) })));
      for (const keyId of ["key_1", "key_2"]) expect(await ask(keyId)).toBe("503 service_unavailable");
      expect(upstream.health()[0]).toMatchObject({ state: "cooling", waitMs: 600_000 });
      provider.script(good);
      clock.advance(1000);
      const [longer, shorter] = first > second ? ["key_1", "key_2"] : ["key_2", "key_1"];
      expect(await ask("key_3")).toBe("answered");
      expect(await ask(shorter)).toBe("answered");
      expect(await ask(longer)).toBe("503 service_unavailable");
      expect(provider.requests).toHaveLength(4);
      clock.advance(599_000);
      expect(await ask(longer)).toBe("answered");
    });
  }

  test("is asked at once by many while its breaker is open, not one after the other", async () => {
    const { upstream, plan } = setUp([{ url: provider.url }], { clock: new FakeClock() });
    const ask = (keyId: string) => outcomeOf(upstream.open(plan({ keyId })));
    provider.script(broken);
    for (let call = 0; call < 5; call += 1) await ask(`key_${call % 2}`);
    const hold = Promise.withResolvers<void>();
    provider.script({ ...good, before: [{ until: hold.promise }] });
    const asking = Array.from({ length: 10 }, (_, call) => ask(`key_${call}`));
    await waitFor(() => provider.requests.length === 15, "all of them");
    hold.resolve();
    expect(await Promise.all(asking)).toEqual(Array(10).fill("answered"));
  });

  test("gets its second try after a pause although that opened the breaker", async () => {
    provider.script([...Array<Answer>(4).fill(broken), openAiError(500, "oops"), good]);
    const { ask } = sole();
    for (let call = 0; call < 4; call += 1) await ask({ keyId: `key_${call}` });
    expect(await ask()).toBe("answered");
  });

  test("is one whose other deployments are out of the key's scope", async () => {
    const { upstream, plan } = setUp([{ url: provider.url }, { url: provider.url }]);
    provider.script(broken);
    for (let call = 0; call < 7; call += 1) {
      await outcomeOf(upstream.open(plan({ scope: "p0", keyId: `key_${call}` })));
    }
    expect(provider.requests).toHaveLength(7);
  });

  test("is one whose deployments have all failed", async () => {
    const places = [{ url: provider.url }, { url: nobody, priority: 2 }];
    const { upstream, plan } = setUp(places, { clock: new FakeClock() });
    const ask = (keyId: string) => outcomeOf(upstream.open(plan({ keyId })));
    provider.script(broken);
    for (let call = 0; call < 6; call += 1) await ask(`key_${call % 2}`);
    expect(upstream.health().map(({ state }) => state)).toEqual(["open", "open"]);
    provider.script(good);
    expect(await ask("key_a")).toBe("answered");
  });
});

describe("a pause that the provider asks for", () => {
  test("is waited out when it is short", async () => {
    provider.script([busyFor({ "retry-after-ms": "300" }), good]);
    const { ask, health } = sole();
    expect(await ask()).toBe("503 service_unavailable");
    expect(await ask()).toBe("answered");
    const [refused, answered] = provider.requests;
    expect((answered?.startedAtMs ?? 0) - (refused?.startedAtMs ?? 0)).toBeGreaterThanOrEqual(299);
    expect(provider.requests).toHaveLength(2);
    expect(health()).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  test("is told at once, with what the provider said, when it is long", async () => {
    provider.script(busyFor({ "retry-after": "3600" }));
    const clock = new FakeClock();
    const { upstream, plan } = setUp([{ url: provider.url }], { clock });
    const refusal = () => upstream.open(plan()).catch((error: GatewayError) => error);
    expect(await refusal()).toMatchObject({ code: "service_unavailable", retryAfterSeconds: 3600 });
    clock.advance(100_000);
    expect(await refusal()).toMatchObject({ code: "service_unavailable", retryAfterSeconds: 3500 });
    expect(provider.requests).toHaveLength(1);
    expect(upstream.health()[0]).toMatchObject({ state: "cooling", waitMs: 500_000, waiting: 0 });
    clock.advance(500_000);
    provider.script(good);
    expect(await outcomeOf(upstream.open(plan()))).toBe("answered");
  });

  test("just beyond the queue's time is told, and not waited for", async () => {
    provider.script(busyFor({ "retry-after-ms": "2500" }));
    const { ask, refusal, health } = sole();
    await ask();
    expect(await refusal()).toMatchObject({ code: "service_unavailable", retryAfterSeconds: 3 });
    expect(health()?.waiting).toBe(0);
    expect(provider.requests).toHaveLength(1);
  });

  test("that is renewed while requests wait is theirs to sit out only once in all", async () => {
    // Every call gets another pause. Each request has used up its wait after two seconds, and then tries.
    provider.script(busyFor({ "retry-after": "1" }));
    const { ask } = sole();
    await ask();
    const asking = Array.from({ length: 4 }, () => ask());
    expect(await Promise.all(asking)).toEqual(Array(4).fill("503 service_unavailable"));
    expect(provider.requests.length).toBeGreaterThan(1);
  });

  test("ends at once for a client that leaves, and leaves nothing behind", async () => {
    provider.script(busyFor({ "retry-after": "2" }));
    const { ask, health } = sole({ maxConcurrent: 1, providerMaxConcurrent: 1 });
    await ask();
    const leaving = new AbortController();
    const waiting = ask({ signal: leaving.signal });
    expect(health()?.waiting).toBe(1);
    leaving.abort();
    expect(await waiting).toBe("502 upstream_error");
    expect(health()).toMatchObject({ inFlight: 0, waiting: 0 });
    expect(provider.requests).toHaveLength(1);
  });

  test("is waited out by so many; the others are told to come back", async () => {
    provider.script(busyFor({ "retry-after": "2" }));
    const { ask, refusal, health } = sole();
    await ask();
    const leaving = new AbortController();
    const waiting = Array.from({ length: 64 }, () => ask({ signal: leaving.signal }));
    expect(health()?.waiting).toBe(64);
    const refusing = refusal();
    expect(health()?.waiting).toBe(64);
    expect(await refusing).toMatchObject({ code: "service_unavailable", retryAfterSeconds: 2 });
    leaving.abort();
    await Promise.all(waiting);
    expect(health()).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  test("is followed by a place at the gate like any other call", async () => {
    const hold = Promise.withResolvers<void>();
    provider.script([
      busyFor({ "retry-after-ms": "100" }),
      { ...good, before: [{ until: hold.promise }] },
      good,
    ]);
    const { ask, health } = sole({ maxConcurrent: 1 });
    await ask();
    const asking = [ask(), ask(), ask()];
    await waitFor(() => provider.requests.length === 2 && health()?.waiting === 2, "the others to queue");
    hold.resolve();
    expect(await Promise.all(asking)).toEqual(Array(3).fill("answered"));
    expect(health()).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  test("of all deployments is waited out at the one that wants the shortest", async () => {
    const other = startProvider(busyFor({ "retry-after": "600" }));
    provider.script([busyFor({ "retry-after-ms": "200" }), good]);
    const { upstream, plan } = setUp([{ url: other.url }, { url: provider.url, priority: 2 }]);
    expect(await outcomeOf(upstream.open(plan()))).toBe("503 service_unavailable");
    expect(await outcomeOf(upstream.open(plan()))).toBe("answered");
    expect([other.requests.length, provider.requests.length]).toEqual([1, 2]);
    other.stop();
  });
});

describe("a second try after a pause", () => {
  test("takes a place like the first", async () => {
    const hold = Promise.withResolvers<void>();
    provider.script([openAiError(500, "oops"), { ...good, before: [{ until: hold.promise }] }, good]);
    const { ask, health } = sole({ maxConcurrent: 1, providerMaxConcurrent: 1 });
    const first = ask();
    await waitFor(() => provider.requests.length === 2, "the second try");
    const second = ask();
    await waitFor(() => health()?.waiting === 1, "the other call to wait for the place");
    hold.resolve();
    expect(await Promise.all([first, second])).toEqual(["answered", "answered"]);
    expect(health()).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  test("is not made for a client that has left", async () => {
    provider.script(openAiError(500, "oops"));
    const { ask, health } = sole({ maxConcurrent: 1 });
    const leaving = new AbortController();
    const asking = ask({ signal: leaving.signal });
    await (await provider.nextRequest()).over;
    await waitFor(() => health()?.inFlight === 0, "the first try to fail");
    leaving.abort();
    expect(await asking).toBe("502 upstream_error");
    expect(provider.requests).toHaveLength(1);
  });
});

test("a request that could not be prepared gives its places back", async () => {
  const { ask, health } = sole({ maxConcurrent: 1, providerMaxConcurrent: 1 });
  for (const error of [new GatewayError("invalid_request", "no"), new Error("a bug")]) {
    const prepare = () => {
      throw error;
    };
    await ask({ prepare });
  }
  expect(health()).toMatchObject({ inFlight: 0, waiting: 0 });
  expect(await ask()).toBe("answered");
});

test("a call that times out, or whose client leaves, gives its places back", async () => {
  provider.script(silence());
  const { ask } = sole({ maxConcurrent: 1, providerMaxConcurrent: 1, timeouts: { firstByteMs: 30 } });
  expect(await ask()).toBe("502 upstream_error");
  expect(await ask({ signal: AbortSignal.timeout(5) })).toBe("502 upstream_error");
  provider.script(good);
  expect(await ask()).toBe("answered");
});

/** Fails 53 of 120 requests, in all the ways that a provider can. The request decides, not its sender. */
const faults: readonly Answer[] = [
  openAiError(500, "oops"),
  openAiError(502, "bad gateway"),
  openAiError(503, "busy"),
  openAiError(529, "overloaded"),
  busyFor({}),
  busyFor({ "retry-after-ms": "150" }),
  openAiError(503, "busy", null, { "retry-after": "1" }),
  broken,
  hangUp(),
];

function flaky(seed: number): (request: SeenRequest) => Answer {
  const random = seededRandom(seed);
  const questions = 120;
  const answers = Array.from({ length: questions }, (_, question) =>
    question < 67 ? good : random.pick(faults),
  );
  for (let last = questions - 1; last > 0; last -= 1) {
    const other = random.below(last + 1);
    [answers[last], answers[other]] = [answers[other] ?? good, answers[last] ?? good];
  }
  return ({ text: question }) => answers[Number(question)] ?? good;
}

/** How many of 120 questions a provider of its own answers to clients that have so many keys. */
async function answeredTo(keys: number, seed: number): Promise<number> {
  const { url, stop } = startProvider(flaky(seed));
  const { upstream, plan } = setUp([{ url }], { random: seededRandom(seed).next });
  const ask = (question: number) => {
    const prepare = () => prepared({ body: String(question) });
    return outcomeOf(upstream.open(plan({ keyId: `key_${question % keys}`, prepare })));
  };
  const answers: string[] = [];
  let next = 0;
  const client = async () => {
    for (let question = next++; question < 120; question = next++) answers[question] = await ask(question);
  };
  await Promise.all(Array.from({ length: 6 }, client));
  stop();
  expect(upstream.health()[0]).toMatchObject({ inFlight: 0, waiting: 0 });
  return answers.filter((answer) => answer === "answered").length;
}

test("a provider that answers 67 of 120 by itself answers no fewer of them to 1, 2 or 40 keys", async () => {
  const [toOne, toTwo, toForty] = await Promise.all([
    answeredTo(1, 11),
    answeredTo(2, 12),
    answeredTo(40, 13),
  ]);
  expect(toOne, "with 1 key").toBeGreaterThanOrEqual(67);
  expect(toTwo, "with 2 keys").toBeGreaterThanOrEqual(67);
  expect(toForty, "with 40 keys").toBeGreaterThanOrEqual(67);
}, 120_000);
