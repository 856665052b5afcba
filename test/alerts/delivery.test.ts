import { expect, test } from "bun:test";
import { AlertMonitor } from "../../src/alerts/monitor.ts";
import { readAlerts } from "../../src/alerts/read-alerts.ts";
import { msPerDay } from "../../src/base/clock.ts";
import { loadSettings } from "../../src/config/load.ts";
import type { NodeState, Store } from "../../src/store/store.ts";
import { testEachStore } from "../store/each-store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";
import { HookServer } from "../support/hook.ts";

const { settings } = loadSettings({ env: {}, cwd: "/" });

/** A monitor on this store, of which some methods are the test's own. */
function monitorOn(store: Store, clock: FakeClock, hook: HookServer, own: Partial<Store["alerts"]>) {
  const alerts = new Proxy(store.alerts, {
    get: (target, name) => {
      const value = Reflect.get(own, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return new AlertMonitor({
    store: { alerts, nodes: null, batches: store.batches },
    clock,
    log: { warn: () => {}, error: () => {} },
    settings: () => ({ ...settings, alerts: { url: hook.url, secret: null } }),
    deploymentHealth: () => [],
    problem: () => null,
  });
}

async function withExpiringKeys(store: Store, clock: FakeClock, count: number): Promise<void> {
  for (let key = 0; key < count; key += 1) {
    await store.insertKey(keyRecord({ expiresAtMs: clock.wallMs() + 6 * msPerDay }), 0);
  }
}

testEachStore("a gateway that no longer leads sends nothing more", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  await withExpiringKeys(store, clock, 3);
  let asked = 0;
  // Once for the look, and once before each post.
  const lead = async () => ++asked <= 2;
  await monitorOn(store, clock, hook, { lead }).check();
  expect(hook.posts).toHaveLength(1);
  await monitorOn(store, clock, hook, {}).check();
  expect(new Set(hook.alerts.map(({ subject }) => subject.id)).size).toBe(3);
  expect(hook.posts).toHaveLength(3);
  await store.close();
});

testEachStore("what the hook has accepted is not sent again if that cannot be noted", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  await withExpiringKeys(store, clock, 1);
  let isAway = true;
  const removePost = (no: number) =>
    isAway ? Promise.reject(new Error("the store is away")) : store.alerts.removePost(no);
  const monitor = monitorOn(store, clock, hook, { removePost });
  await monitor.check();
  await monitor.check();
  isAway = false;
  await monitor.check();
  expect(hook.posts).toHaveLength(1);
  expect(await store.alerts.duePosts(clock.wallMs(), 10)).toEqual([]);
  await store.close();
});

testEachStore(
  "the pauses between attempts grow with the alert's age, from 5 s to 5 min",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    hook.answer = () => new Response("no", { status: 500 });
    const store = await database.openGateway(clock);
    await withExpiringKeys(store, clock, 1);
    const pauses: number[] = [];
    const postponePost = (no: number, dueAtMs: number) => {
      pauses.push(dueAtMs - clock.wallMs());
      return store.alerts.postponePost(no, dueAtMs);
    };
    const monitor = monitorOn(store, clock, hook, { postponePost });
    for (const afterMs of [0, 4_999, 1, 60_000, 600_000]) {
      clock.advance(afterMs);
      await monitor.check();
    }
    expect(pauses).toEqual([5_000, 5_000, 65_000, 300_000]);
    await store.close();
  },
);

test("a node is missed unless it is live, or one of its name has started since", async () => {
  const node = (no: number, overrides: Partial<NodeState>): NodeState => ({
    no,
    name: `node-${no}`,
    state: "live",
    startedAtMs: 0,
    lastBeatMs: 1_000,
    ...overrides,
  });
  const none = async () => ({ listed: [], more: 0 });
  const alerts = {
    published: async () => [],
    drawnBounds: none,
    drawnValues: async () => ({ listed: [], more: 0, places: [] }),
    expiringKeys: none,
    overrunSince: async () => ({ nano: 0, tokens: 0 }),
    lostSignInsSince: async () => 0,
    reusedSignInsSince: async () => 0,
    acknowledged: async () => [],
    modelsRequestedSince: async () => new Set<string>(),
  } as unknown as Store["alerts"];
  const missed = async (...nodes: NodeState[]) => {
    const { active: found } = await readAlerts(
      { alerts, nodes: { states: async () => nodes }, batches: { open: async () => [] } },
      5_000,
    );
    return found.map(({ subject }) => subject.id);
  };
  expect(await missed(node(1, {}))).toEqual([]);
  expect(await missed(node(1, { state: "late" }), node(2, { state: "dead" }))).toEqual(["1", "2"]);
  const killed = node(1, { state: "dead" });
  expect(await missed(killed, node(2, { name: "node-1", startedAtMs: 1_001 }))).toEqual([]);
  expect(await missed(killed, node(2, { name: "node-1", startedAtMs: 1_000 }))).toEqual(["1"]);
  expect(await missed(killed, node(2, { name: "node-2", startedAtMs: 1_001 }))).toEqual(["1"]);
  const replaced = node(2, { name: "node-1", startedAtMs: 1_001, state: "late" });
  expect(await missed(killed, replaced)).toEqual(["1", "2"]);
});
