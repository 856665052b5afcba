import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { GatewayError } from "../../src/base/errors.ts";
import type { Opened } from "../../src/upstream/upstream.ts";
import { cutAfter, json, openAiError, silence } from "../support/answers.ts";
import { FakeClock } from "../support/clock.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";
import { nobody, setUp } from "./fixtures.ts";

let provider: ScriptedProvider;

beforeEach(() => {
  provider = startProvider();
});

afterEach(() => provider.stop());

const good = json({ id: "x" });

async function codeOf(opening: Promise<Opened>): Promise<string> {
  return opening.then(
    (opened) => {
      opened.finished("completed");
      return "answered";
    },
    (error: GatewayError) => `${error.status} ${error.code}`,
  );
}

describe("the circuit breaker", () => {
  test("opens after failures in a row, lets one probe through, and closes when that is answered", async () => {
    const clock = new FakeClock();
    provider.script(openAiError(418, "no"));
    const { upstream, plan } = setUp([{ url: provider.url }], { clock });
    const open = () => codeOf(upstream.open(plan()));
    for (let call = 0; call < 5; call += 1) expect(await open()).toBe("502 upstream_error");
    expect(upstream.health()[0]).toMatchObject({ state: "open", waitMs: 5000, consecutiveFailures: 5 });
    expect(await open()).toBe("502 provider_unavailable");
    expect(provider.requests).toHaveLength(5);

    clock.advance(5000);
    expect(upstream.health()[0]?.state).toBe("half_open");
    expect(await open()).toBe("502 upstream_error");
    expect(upstream.health()[0]).toMatchObject({ state: "open", waitMs: 10_000 });

    clock.advance(10_000);
    const hold = Promise.withResolvers<void>();
    provider.script({ ...good, before: [{ until: hold.promise }] });
    const probe = open();
    await waitFor(() => provider.requests.length === 7, "the probe");
    expect(await open()).toBe("502 provider_unavailable");
    hold.resolve();
    expect(await probe).toBe("answered");
    expect(upstream.health()[0]).toMatchObject({ state: "closed", consecutiveFailures: 0 });
    expect(await open()).toBe("answered");
  });

  test("opens when half of the calls fail, although never many in a row", async () => {
    provider.script((request) =>
      provider.requests.indexOf(request) % 2 === 0 ? openAiError(418, "no") : good,
    );
    const { upstream, plan } = setUp([{ url: provider.url }], { clock: new FakeClock() });
    for (let call = 0; call < 12; call += 1) await codeOf(upstream.open(plan()));
    expect(upstream.health()[0]?.state).toBe("open");
  });

  test("counts streams that break off after they have begun", async () => {
    provider.script(cutAfter(answerFrom("chat/text.sse"), 400, [{ sleepMs: 5 }, { reset: true }]));
    const { upstream, plan } = setUp([{ url: provider.url }]);
    for (let call = 0; call < 5; call += 1) {
      const opened = await upstream.open(plan({ stream: true }));
      opened.finished("failed");
    }
    expect(upstream.health()[0]).toMatchObject({ recentCalls: 5, recentFailures: 5 });
  });

  test("does not count clients that leave, nor requests that are wrong by themselves", async () => {
    const { upstream, plan } = setUp([{ url: provider.url }]);
    provider.script(openAiError(400, "bad"));
    for (let call = 0; call < 12; call += 1) await codeOf(upstream.open(plan()));
    provider.script(silence());
    for (let call = 0; call < 12; call += 1) {
      const leaving = new AbortController();
      const opening = codeOf(upstream.open(plan({ signal: leaving.signal })));
      setTimeout(() => leaving.abort(), 2);
      await opening;
    }
    expect(upstream.health()[0]).toMatchObject({ state: "closed", recentFailures: 0, inFlight: 0 });
  });

  test("a client that leaves the probe lets the next one try", async () => {
    const clock = new FakeClock();
    const { upstream, plan } = setUp([{ url: nobody }], { clock });
    for (let call = 0; call < 3; call += 1) await codeOf(upstream.open(plan()));
    expect(upstream.health()[0]?.state).toBe("open");
    clock.advance(5000);
    const gone = AbortSignal.abort();
    await codeOf(upstream.open(plan({ signal: gone })));
    expect(upstream.health()[0]?.state).toBe("half_open");
  });
});

describe("a provider that asks for a pause", () => {
  test("is left alone until then, and the client is told for how long", async () => {
    const clock = new FakeClock();
    provider.script(openAiError(429, "slow down", null, { "retry-after": "20" }));
    const { upstream, plan } = setUp([{ url: provider.url }], { clock });
    await codeOf(upstream.open(plan()));
    clock.advance(12_500);
    const refusal = await upstream.open(plan()).catch((error: GatewayError) => error);
    expect(refusal).toMatchObject({ code: "service_unavailable", retryAfterSeconds: 8 });
    expect(provider.requests).toHaveLength(1);
    expect(upstream.health()[0]).toMatchObject({ state: "cooling", waitMs: 7500 });
    provider.script(good);
    clock.advance(7500);
    expect(await codeOf(upstream.open(plan()))).toBe("answered");
  });
});

test("a provider that is busy again and again without saying for how long is busy to clients too", async () => {
  provider.script(openAiError(503, "busy"));
  const { upstream, plan } = setUp([{ url: provider.url }], { clock: new FakeClock() });
  for (let call = 0; call < 7; call += 1) {
    expect(await codeOf(upstream.open(plan()))).toBe("503 service_unavailable");
  }
  expect(provider.requests).toHaveLength(5);
  expect(upstream.health()[0]?.state).toBe("open");
});

describe("a pool of keys", () => {
  const keysSeen = () => provider.requests.map(({ headers }) => headers["authorization"]);

  test("is used in turn", async () => {
    provider.script(good);
    const { upstream, plan } = setUp([{ url: provider.url, apiKeys: ["a", "b", "c"] }]);
    for (let call = 0; call < 4; call += 1) await codeOf(upstream.open(plan()));
    expect(keysSeen()).toEqual(["Bearer a", "Bearer b", "Bearer c", "Bearer a"]);
  });

  for (const status of [401, 403, 429]) {
    test(`goes on with another key after a ${status}, and leaves the refused one alone`, async () => {
      const clock = new FakeClock();
      provider.script((request) =>
        request.headers["authorization"] === "Bearer a" ? openAiError(status, "not you") : good,
      );
      const { upstream, plan } = setUp([{ url: provider.url, apiKeys: ["a", "b"] }], { clock });
      for (let call = 0; call < 3; call += 1) expect(await codeOf(upstream.open(plan()))).toBe("answered");
      expect(keysSeen()).toEqual(["Bearer a", "Bearer b", "Bearer b", "Bearer b"]);
      expect(upstream.health()[0]).toMatchObject({ keys: 2, keysReady: 1, state: "closed" });
      clock.advance(400_000);
      expect(upstream.health()[0]?.keysReady).toBe(2);
    });
  }

  test("fails when all of its keys do", async () => {
    provider.script(openAiError(401, "nobody"));
    const { upstream, plan } = setUp([{ url: provider.url, apiKeys: ["a", "b"] }]);
    expect(await codeOf(upstream.open(plan()))).toBe("502 upstream_error");
    expect(keysSeen()).toEqual(["Bearer a", "Bearer b"]);
  });
});

describe("a limit on concurrent calls", () => {
  for (const [of, place] of [
    ["the deployment", { maxConcurrent: 2 }],
    ["the provider", { providerMaxConcurrent: 2 }],
  ] as const) {
    test(`of ${of} makes others wait for a place, and takes every place back`, async () => {
      const hold = Promise.withResolvers<void>();
      provider.script({ ...good, before: [{ until: hold.promise }] });
      const { upstream, plan } = setUp([{ url: provider.url, ...place }]);
      const calls = Array.from({ length: 6 }, () => codeOf(upstream.open(plan())));
      await waitFor(() => provider.requests.length === 2, "two calls");
      await Bun.sleep(20);
      expect(provider.requests).toHaveLength(2);
      hold.resolve();
      expect(await Promise.all(calls)).toEqual(Array(6).fill("answered"));
      expect(upstream.health()[0]).toMatchObject({ inFlight: 0, waiting: 0 });
    });
  }

  test("sends calls to another deployment first", async () => {
    const other = startProvider(good);
    provider.script(silence());
    const { upstream, plan } = setUp([
      { url: provider.url, maxConcurrent: 1 },
      { url: other.url, priority: 2 },
    ]);
    const leaving = new AbortController();
    const stuck = codeOf(upstream.open(plan({ signal: leaving.signal })));
    await waitFor(() => provider.requests.length === 1, "the first call");
    expect(await codeOf(upstream.open(plan()))).toBe("answered");
    expect(other.requests).toHaveLength(1);
    leaving.abort();
    await stuck;
    other.stop();
  });

  test("is 503 beyond the queue", async () => {
    provider.script(silence());
    const { upstream, plan } = setUp([{ url: provider.url, maxConcurrent: 1 }]);
    const leaving = new AbortController();
    const calls = Array.from({ length: 70 }, () => codeOf(upstream.open(plan({ signal: leaving.signal }))));
    expect(await Promise.race(calls)).toBe("503 service_unavailable");
    leaving.abort();
    await Promise.all(calls);
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, waiting: 0 });
  });
});

describe("the provider's own count of tokens", () => {
  const counting = { prepare: () => ({ operation: "count_tokens" as const, body: "{}", headers: {} }) };

  test("is taken where it is offered", async () => {
    const { upstream, plan } = setUp([{ url: nobody }, { url: provider.url, countTokens: true }]);
    expect(await upstream.countTokens(plan(counting))).toBe(25);
    expect(provider.requests[0]?.path).toBe("/messages/count_tokens");
    expect(upstream.health()[1]?.inFlight).toBe(0);
  });

  test("is null where it is not, and whenever it cannot be had", async () => {
    const none = setUp([{ url: provider.url }]);
    expect(await none.upstream.countTokens(none.plan(counting))).toBeNull();
    expect(provider.requests).toHaveLength(0);
    const { upstream, plan } = setUp([{ url: provider.url, countTokens: true }]);
    for (const answer of [
      openAiError(500, "no"),
      json({ tokens: 3 }),
      json({ input_tokens: -1 }),
      answerFrom("chat/text.sse"),
    ]) {
      provider.script(answer);
      expect(await upstream.countTokens(plan(counting))).toBeNull();
    }
    provider.script(silence());
    expect(await upstream.countTokens(plan({ ...counting, deadlineMs: performance.now() + 50 }))).toBeNull();
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, recentFailures: 0 });
  });
});
