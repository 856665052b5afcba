import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { KeyPool } from "../../src/upstream/health/key-health.ts";
import type { Plan } from "../../src/upstream/upstream.ts";
import { json, openAiError, silence } from "../support/answers.ts";
import { FakeClock } from "../support/clock.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";
import { nobody, outcomeOf, prepared, setUp } from "./fixtures.ts";

let provider: ScriptedProvider;

beforeEach(() => {
  provider = startProvider();
});

afterEach(() => provider.stop());

const good = json({ id: "x" });

const anyKey = { credential: null, conversation: null };

describe("a pool of keys", () => {
  const keysSeen = () => provider.requests.map(({ headers }) => headers["authorization"]);

  test("is used in turn", async () => {
    provider.script(good);
    const { upstream, plan } = setUp([{ url: provider.url, apiKeys: ["a", "b", "c"] }]);
    for (let call = 0; call < 4; call += 1) await outcomeOf(upstream.open(plan()));
    expect(keysSeen()).toEqual(["Bearer a", "Bearer b", "Bearer c", "Bearer a"]);
  });

  for (const status of [401, 403, 429]) {
    test(`goes on with another key after a ${status}, and leaves the refused one alone`, async () => {
      const clock = new FakeClock();
      provider.script((request) =>
        request.headers["authorization"] === "Bearer a" ? openAiError(status, "not you") : good,
      );
      const { upstream, plan } = setUp([{ url: provider.url, apiKeys: ["a", "b"] }], { clock });
      for (let call = 0; call < 3; call += 1) expect(await outcomeOf(upstream.open(plan()))).toBe("answered");
      expect(keysSeen()).toEqual(["Bearer a", "Bearer b", "Bearer b", "Bearer b"]);
      expect(upstream.health()[0]).toMatchObject({ keys: 2, keysReady: 1, state: "closed" });
      clock.advance(400_000);
      expect(upstream.health()[0]?.keysReady).toBe(2);
    });
  }

  test("keeps a key in use after a 404, which is about the request or the model", async () => {
    provider.script(openAiError(404, "no such model"));
    const { upstream, plan } = setUp([{ url: provider.url, apiKeys: ["a", "b"] }]);
    expect(await outcomeOf(upstream.open(plan()))).toBe("502 upstream_error");
    expect(keysSeen()).toEqual(["Bearer a"]);
    expect(upstream.health()[0]?.keysReady).toBe(2);
  });

  test("uses the key that rests shortest when all rest", async () => {
    const clock = new FakeClock();
    const rests: Readonly<Record<string, string>> = { "Bearer a": "30", "Bearer b": "10", "Bearer c": "20" };
    provider.script(({ headers }) =>
      openAiError(429, "slow down", null, { "retry-after": rests[headers["authorization"] ?? ""] }),
    );
    const { upstream, plan } = setUp([{ url: provider.url, apiKeys: ["a", "b", "c"] }], { clock });
    expect(await outcomeOf(upstream.open(plan()))).toBe("503 service_unavailable");
    expect(keysSeen()).toEqual(["Bearer a", "Bearer b", "Bearer c"]);
    expect(upstream.health()[0]).toMatchObject({ state: "cooling", waitMs: 10_000, keysReady: 0 });
    clock.advance(10_000);
    provider.script(good);
    expect(await outcomeOf(upstream.open(plan()))).toBe("answered");
    expect(keysSeen().at(-1)).toBe("Bearer b");
  });

  test("of which all rest still answers with the one that rests shortest", () => {
    const [a, b, c] = [{ id: "a" }, { id: "b" }, { id: "c" }];
    const keys = new KeyPool([a, b, c]);
    keys.throttled(a, 0, 3000);
    keys.throttled(b, 0, 1000);
    keys.throttled(c, 0, 2000);
    expect(keys.pick(10, anyKey)).toBe(b);
    expect(keys.readyInMs(10)).toBe(990);
  });

  test("leaves a key whose quota is used up alone for a day at most", () => {
    const keys = new KeyPool([{ id: "a" }]);
    keys.exhausted(keys.pick(0, anyKey), 0, 10 * 86_400_000);
    expect(keys.readyInMs(0)).toBe(86_400_000);
    keys.exhausted(keys.pick(86_400_000, anyKey), 86_400_000, 1000);
    expect(keys.readyInMs(86_400_000)).toBe(1000);
  });

  test("fails when all of its keys do", async () => {
    provider.script(openAiError(401, "nobody"));
    const { upstream, plan } = setUp([{ url: provider.url, apiKeys: ["a", "b"] }]);
    expect(await outcomeOf(upstream.open(plan()))).toBe("502 upstream_error");
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
      const calls = Array.from({ length: 6 }, () => outcomeOf(upstream.open(plan())));
      await waitFor(() => provider.requests.length === 2, "two calls");
      await Bun.sleep(20);
      expect(provider.requests).toHaveLength(2);
      hold.resolve();
      expect(await Promise.all(calls)).toEqual(Array(6).fill("answered"));
      expect(upstream.health()[0]).toMatchObject({ inFlight: 0, waiting: 0 });
    });
  }

  test("holds for each deployment, whatever an earlier model says of the same one", async () => {
    const hold = Promise.withResolvers<void>();
    provider.script({ ...good, before: [{ until: hold.promise }] });
    const { upstream, plan } = setUp([
      { url: provider.url, provider: "p", upstreamModel: "real", model: "m" },
      { url: provider.url, provider: "p", upstreamModel: "real", model: "limited", maxConcurrent: 1 },
    ]);
    const ask = (modelId: string) => outcomeOf(upstream.open(plan({ modelId })));
    const calls = [ask("m"), ask("m"), ask("limited"), ask("limited"), ask("limited")];
    await waitFor(() => upstream.health()[0]?.waiting === 2, "two calls to wait");
    expect(upstream.health()[0]).toMatchObject({ inFlight: 3 });
    hold.resolve();
    expect(await Promise.all(calls)).toEqual(Array(5).fill("answered"));
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  test("gets back the slot of another key that was not tried, because there have been enough attempts", async () => {
    provider.script(openAiError(429, "not you"));
    const apiKeys = ["a", "b", "c", "d", "e", "f", "g"];
    const { upstream, plan } = setUp([{ url: provider.url, apiKeys, maxConcurrent: 1 }]);
    expect(await outcomeOf(upstream.open(plan()))).toBe("503 service_unavailable");
    const attempts = provider.requests.length;
    expect(attempts).toBeGreaterThan(1);
    expect(attempts).toBeLessThan(apiKeys.length);
    provider.script(good);
    // With the slot lost, this would wait for it, and be told that the model is busy.
    expect(await outcomeOf(upstream.open(plan()))).toBe("answered");
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  test("sends calls to another deployment first", async () => {
    const other = startProvider(good);
    provider.script(silence());
    const { upstream, plan } = setUp([
      { url: provider.url, maxConcurrent: 1 },
      { url: other.url, priority: 2 },
    ]);
    const leaving = new AbortController();
    const stuck = outcomeOf(upstream.open(plan({ signal: leaving.signal })));
    await waitFor(() => provider.requests.length === 1, "the first call");
    expect(await outcomeOf(upstream.open(plan()))).toBe("answered");
    expect(other.requests).toHaveLength(1);
    leaving.abort();
    await stuck;
    other.stop();
  });

  test("is 503 for the first one beyond a queue of 64, and for none before", async () => {
    provider.script(silence());
    const { upstream, plan } = setUp([{ url: provider.url, maxConcurrent: 1 }]);
    const leaving = new AbortController();
    let ended = 0;
    const call = () =>
      outcomeOf(upstream.open(plan({ signal: leaving.signal }))).finally(() => {
        ended += 1;
      });
    const calls = Array.from({ length: 65 }, call);
    await waitFor(() => upstream.health()[0]?.waiting === 64, "a full queue");
    expect(await call()).toBe("503 service_unavailable");
    expect(ended).toBe(1);
    leaving.abort();
    await Promise.all(calls);
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, waiting: 0 });
  });
});

describe("the provider's own count of tokens", () => {
  const counting: Partial<Plan> = {
    clientDialect: "messages",
    prepare: () => prepared({ dialect: "messages", purpose: "countTokens" }),
  };

  test("is taken where it is offered", async () => {
    const { upstream, plan } = setUp([{ url: nobody }, { url: provider.url, countTokens: true }]);
    expect(await upstream.countTokens(plan(counting))).toMatchObject({ tokens: 25 });
    expect(provider.requests[0]?.path).toBe("/messages/count_tokens");
    expect(upstream.health()[1]?.inFlight).toBe(0);
  });

  test("is not asked of a provider that does not speak the client's dialect", async () => {
    const { upstream, plan } = setUp([{ url: provider.url, countTokens: true, dialects: ["chat"] }]);
    expect(await upstream.countTokens(plan(counting))).toBeNull();
    expect(provider.requests).toHaveLength(0);
  });

  test("is asked by a key that may call while another has to wait", async () => {
    const { upstream, plan } = setUp([{ url: provider.url, countTokens: true }]);
    provider.script(openAiError(429, "slow down", null, { "retry-after": "60" }));
    await outcomeOf(upstream.open(plan({ keyId: "key_1" })));
    provider.script(null);
    expect(await upstream.countTokens(plan({ ...counting, keyId: "key_1" }))).toBeNull();
    expect(await upstream.countTokens(plan({ ...counting, keyId: "key_2" }))).toMatchObject({ tokens: 25 });
    expect(provider.requests).toHaveLength(2);
  });

  test("is not asked for a client that has left", async () => {
    const { upstream, plan } = setUp([{ url: provider.url, countTokens: true, maxConcurrent: 1 }]);
    expect(await upstream.countTokens(plan({ ...counting, signal: AbortSignal.abort() }))).toBeNull();
    expect(provider.requests).toHaveLength(0);
    expect(await upstream.countTokens(plan(counting))).toMatchObject({ tokens: 25 });
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

  test("takes no place when it cannot be prepared", async () => {
    const { upstream, plan } = setUp([{ url: provider.url, countTokens: true, maxConcurrent: 1 }]);
    const unprepared = () => {
      throw new Error("cannot be said there");
    };
    await expect(upstream.countTokens(plan({ ...counting, prepare: unprepared }))).rejects.toThrow(
      "cannot be said there",
    );
    expect(upstream.health()[0]?.inFlight).toBe(0);
    expect(await upstream.countTokens(plan(counting))).toMatchObject({ tokens: 25 });
  });

  test("gives its place back however it ends", async () => {
    const { upstream, plan } = setUp([
      { url: provider.url, countTokens: true, maxConcurrent: 1, providerMaxConcurrent: 1 },
    ]);
    const count = (changes: Partial<Plan> = {}) => upstream.countTokens(plan({ ...counting, ...changes }));
    provider.script(openAiError(500, "no"));
    expect(await count()).toBeNull();
    provider.script(answerFrom("chat/text.sse"));
    expect(await count()).toBeNull();
    provider.script(silence());
    expect(await count({ deadlineMs: performance.now() + 30 })).toBeNull();
    expect(await count({ signal: AbortSignal.timeout(10) })).toBeNull();
    provider.script(null);
    expect(await count()).toMatchObject({ tokens: 25 });
  });
});
