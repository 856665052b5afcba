import { describe, expect, test } from "bun:test";
import { Directory } from "../../src/upstream/selection/directory.ts";
import type { Plan } from "../../src/upstream/upstream.ts";
import { createProvider } from "../../src/vendors/registry.ts";
import { modelsAt, nobody, type Place, providersAt, setUp } from "./fixtures.ts";

const nowMs = 1_000;

function directoryOf(places: readonly Place[], before: Directory | null = null): Directory {
  const settings = { models: modelsAt(places, []), providers: providersAt(places) };
  return new Directory(settings, (each) => createProvider(each, {}), Math.random, before);
}

function orderOf(directory: Directory, places: readonly Place[], changes: Partial<Plan> = {}) {
  return directory.order({ ...setUp(places).plan(), ...changes }, nowMs);
}

const three: readonly Place[] = [0, 1, 2].map((priority) => ({ url: nobody, priority }));
const namesOf = (order: ReturnType<typeof orderOf>) => order.map(({ deployment }) => deployment.name);

/** Makes calls to it fail, one of two for a key that is not asked for. */
function breakDown(directory: Directory, place: number): void {
  const breaker = orderOf(directory, three).find(({ deployment }) => deployment.priority === place)?.state
    .breaker;
  for (let call = 0; call < 20; call += 1) {
    const keyId = call % 2 === 0 ? "key_a" : "key_b";
    if (call % 4 === 3) breaker?.answered(nowMs, keyId);
    else breaker?.failed(nowMs, { keyId, evidence: "unclear", isProbe: false });
  }
  expect(breaker?.failsOften(nowMs, "key_a")).toBe(true);
}

describe("the order of deployments", () => {
  test("has only the one that is pinned", () => {
    const directory = directoryOf(three);
    const pinned = orderOf(directory, three)[1]?.deployment ?? null;
    expect(namesOf(orderOf(directory, three, { pinned }))).toEqual(["p1/real"]);
    const foreign = orderOf(directoryOf(three), three)[1]?.deployment ?? null;
    expect(orderOf(directory, three, { pinned: foreign })).toEqual([]);
  });

  test("has those that fail often last, and all of them in their order if all do", () => {
    const directory = directoryOf(three);
    breakDown(directory, 0);
    expect(namesOf(orderOf(directory, three))).toEqual(["p1/real", "p2/real", "p0/real"]);
    breakDown(directory, 1);
    expect(namesOf(orderOf(directory, three))).toEqual(["p2/real", "p0/real", "p1/real"]);
    breakDown(directory, 2);
    expect(namesOf(orderOf(directory, three))).toEqual(["p0/real", "p1/real", "p2/real"]);
  });
});

test("a new configuration keeps what is known of a deployment whose provider is the same, and only of it", () => {
  const before = directoryOf(three);
  const moved = three.map((place) => ({
    ...place,
    url: place.priority === 1 ? "http://127.0.0.1:2" : place.url,
  }));
  const after = directoryOf(moved, before);
  const known = orderOf(before, three).map(({ state }) => state);
  const kept = orderOf(after, moved).map(({ state }, place) => [
    state.breaker === known[place]?.breaker,
    state.history === known[place]?.history,
  ]);
  expect(kept).toEqual([
    [true, true],
    [false, false],
    [true, true],
  ]);
});

test("a credential belongs to a provider that is configured", () => {
  const directory = directoryOf([{ url: nobody, apiKeys: ["one"] }]);
  expect(directory.hasCredential("nowhere", "one")).toBe(false);
});

test("a deployment's name does not show the operator's account", () => {
  const places = [{ url: nobody, upstreamModel: "arn:aws:bedrock:eu-west-1:123456789012:profile/a1" }];
  const [candidate] = orderOf(directoryOf(places), places);
  expect(candidate?.state.id).toContain("123456789012");
  expect(candidate?.deployment.name).not.toContain("123456789012");
  expect(candidate?.deployment.shownModel).not.toContain("123456789012");
});
