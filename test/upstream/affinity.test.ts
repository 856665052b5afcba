import { describe, expect, test } from "bun:test";
import { KeyPool } from "../../src/upstream/health/key-health.ts";
import { json, openAiError } from "../support/answers.ts";
import { FakeClock } from "../support/clock.ts";
import { startProvider } from "../support/provider.ts";
import { directoryAt, nobody, type Place, setUp } from "./fixtures.ts";

/** Enough for a share to be within a few percent of its weight. */
const conversations = Array.from({ length: 4000 }, (_, index) => Bun.hash.xxHash32(`conversation ${index}`));

const a: Place = { url: nobody, provider: "a", weight: 3 };
const b: Place = { url: nobody, provider: "b" };
const c: Place = { url: nobody, provider: "c" };

/** Which provider each conversation is sent to. */
function choices(places: readonly Place[]): readonly string[] {
  const { order, plan } = directoryAt(places);
  return conversations.map((conversation) => order(plan({ conversation }))[0] ?? "");
}

function shareOf(name: string, chosen: readonly string[]): number {
  return chosen.filter((each) => each === name).length / chosen.length;
}

describe("a conversation's deployment", () => {
  test("is chosen in proportion to weight", () => {
    const chosen = choices([a, b, c]);
    expect(shareOf("a", chosen)).toBeCloseTo(0.6, 1);
    expect(shareOf("b", chosen)).toBeCloseTo(0.2, 1);
    expect(shareOf("c", chosen)).toBeCloseTo(0.2, 1);
  });

  test("is the same on every gateway, in whatever order the deployments are configured", () => {
    expect(choices([c, a, b])).toEqual(choices([a, b, c]));
  });

  test("changes only for the share of a deployment that comes or goes", () => {
    const [without, withAll] = [choices([a, b]), choices([a, b, c])];
    const moved = withAll.filter((name, index) => name !== without[index]);
    expect(new Set(moved)).toEqual(new Set(["c"]));
    expect(shareOf("c", withAll)).toBe(moved.length / conversations.length);
  });

  test("is told apart by its upstream model where a provider has several", () => {
    const models = ["small", "large"].map((upstreamModel) => ({ ...b, upstreamModel }));
    const { order, plan } = directoryAt(models);
    const names = new Set(conversations.map((conversation) => order(plan({ conversation }), "name")[0]));
    expect(names).toEqual(new Set(["b/small", "b/large"]));
  });

  test("is one of the lowest priority number and of the key's scope", () => {
    const { order, plan } = directoryAt([{ ...a, priority: 2 }, b, c]);
    for (const conversation of conversations.slice(0, 100)) {
      expect(order(plan({ conversation }))[2]).toBe("a");
      expect(order(plan({ conversation, scope: "c" }))).toEqual(["c"]);
    }
  });

  test("is random without a conversation, in proportion to weight", () => {
    const { order, plan } = directoryAt([a, b, c]);
    const chosen = conversations.map(() => order(plan({ conversation: null }))[0] ?? "");
    expect(shareOf("a", chosen)).toBeCloseTo(0.6, 1);
  });
});

describe("a conversation", () => {
  /** Of two providers; the first is the one that the conversation prefers. */
  function preferring(changes: Partial<Place>) {
    const provider = startProvider(json({ id: "x" }));
    const places = ["one", "two"].map((name) => ({ url: `${provider.url}/${name}`, provider: name }));
    const { order, plan } = directoryAt(places);
    const conversation = conversations.find((each) => order(plan({ conversation: each }))[0] === "one") ?? 0;
    const clock = new FakeClock();
    const [one, two] = places;
    const set = setUp(
      [
        { ...one, url: `${provider.url}/one`, ...changes },
        { ...two, url: provider.url },
      ],
      { clock },
    );
    const asked = async (keyId = "key_a") => {
      const opened = await set.upstream.open(set.plan({ conversation, keyId }));
      opened.finished("completed");
      return opened.deployment.provider.settings.name;
    };
    const askedOfFirst = () => provider.requests.filter(({ path }) => path.startsWith("/one/")).length;
    return { provider, clock, asked, askedOfFirst };
  }

  const good = json({ id: "x" });

  test("leaves a full deployment at once, and returns as soon as there is room", async () => {
    const { provider, asked } = preferring({ maxConcurrent: 1 });
    const { promise: until, resolve } = Promise.withResolvers<void>();
    provider.script([{ ...good, before: [{ until }] }, good]);
    const first = asked();
    await provider.nextRequest();
    const meanwhile = await asked();
    resolve();
    expect([await first, meanwhile, await asked()]).toEqual(["one", "two", "one"]);
    provider.stop();
  });

  test("leaves one that asks for a pause, and returns when that is over", async () => {
    const { provider, clock, asked, askedOfFirst } = preferring({});
    const pause = openAiError(503, "pause", null, { "retry-after": "30" });
    provider.script(({ path }) => (path.startsWith("/one/") && askedOfFirst() === 1 ? pause : good));
    const names = [await asked(), await asked()];
    clock.advance(30_000);
    names.push(await asked());
    expect(names).toEqual(["two", "two", "one"]);
    expect(askedOfFirst()).toBe(2);
    provider.stop();
  });

  test("leaves one whose breaker is open, and returns as soon as it closes", async () => {
    const { provider, clock, asked, askedOfFirst } = preferring({});
    provider.script(({ path }) =>
      path.startsWith("/one/") && askedOfFirst() <= 5 ? openAiError(500, "oops") : good,
    );
    for (let call = 0; call < 8; call += 1) expect(await asked(`key_${call % 2}`)).toBe("two");
    expect(askedOfFirst()).toBe(5);
    clock.advance(5000);
    expect([await asked(), await asked()]).toEqual(["one", "one"]);
    provider.stop();
  });
});

describe("a conversation's credential", () => {
  const keys = ["x", "y", "z"].map((id) => ({ id }));

  function picks(pool: KeyPool<{ readonly id: string }>): readonly string[] {
    return conversations.map((conversation) => pool.pick(0, { credential: null, conversation })?.id ?? "");
  }

  test("is the same on every gateway, and each gets its share", () => {
    const picked = picks(new KeyPool(keys));
    expect(picks(new KeyPool(keys.toReversed()))).toEqual(picked);
    for (const { id } of keys) expect(shareOf(id, picked)).toBeCloseTo(1 / 3, 1);
  });

  test("is left while it is paused, by its own conversations alone", () => {
    const pool = new KeyPool(keys);
    const before = picks(pool);
    pool.throttled(keys[1] ?? null, 0, 1000);
    const after = picks(pool);
    expect(shareOf("y", after)).toBe(0);
    for (const [index, id] of before.entries()) if (id !== "y") expect(after[index]).toBe(id);
    expect(
      conversations.map((conversation) => pool.pick(1000, { credential: null, conversation })?.id),
    ).toEqual([...before]);
  });

  test("yields to the one that an id was given out by", () => {
    const pool = new KeyPool(keys);
    const bound = conversations.map((conversation) => pool.pick(0, { credential: "z", conversation })?.id);
    expect(new Set(bound)).toEqual(new Set(["z"]));
  });
});
