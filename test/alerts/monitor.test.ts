import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { iso } from "../../src/admin/moments.ts";
import { auditLedger } from "../../src/admin/reports/audit-ledger.ts";
import { pastAlertViews, readAlertViews } from "../../src/admin/system/list-alerts.ts";
import { msPerDay } from "../../src/base/clock.ts";
import type { LedgerFault, Store, StoreProblem } from "../../src/store/store.ts";
import type { DeploymentHealth } from "../../src/upstream/upstream.ts";
import { testEachStore } from "../store/each-store.ts";
import { keyRecord, settleItem } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";
import { HookServer } from "../support/hook.ts";
import { waitFor } from "../support/wait.ts";
import { deploymentHealth, monitorOf, secret } from "./fixtures.ts";

const fault: LedgerFault = { keyId: null, where: "hour", field: "spend", kept: 1, recomputed: 2 };

testEachStore(
  "each threshold begins once, straight to 100 % is one, and the end is below 80",
  async (database) => {
    const clock = new FakeClock();
    const nowMs = clock.wallMs();
    using hook = new HookServer();
    const store = await database.openGateway(clock);
    const { monitor } = monitorOf(store, clock, hook);
    const key = keyRecord({ label: "ci", createdAtMs: nowMs - 90 * msPerDay });
    await store.insertKey(key, 100);
    const use = (charged: number) =>
      store.charge([settleItem(key.id, charged, { atMs: nowMs - 30 * msPerDay, countedAtMs: nowMs })]);
    const topUp = (amountNano: number) =>
      store.recordTopUp({ keyId: key.id, amountNano, reference: null, note: null, atMs: nowMs });
    await use(79);
    await monitor.check();
    expect(hook.posts).toEqual([]);
    await use(1);
    await monitor.check();
    await use(15);
    await monitor.check();
    await monitor.check();
    await topUp(1);
    await monitor.check();
    expect(hook.told("balance_threshold")).toEqual(["firing 80", "firing 95"]);
    await topUp(100);
    await monitor.check();
    expect(hook.told("balance_threshold")).toEqual(["firing 80", "firing 95", "resolved 95"]);
    const past = await pastAlertViews({ store, clock });
    expect(past.filter(({ kind }) => kind === "balance_threshold")).toEqual([
      expect.objectContaining({ level: 80, since: iso(nowMs), resolved_at: iso(nowMs) }),
    ]);
    await use(106);
    await monitor.check();
    expect(hook.told("balance_threshold").slice(3)).toEqual(["firing 100"]);
    expect(hook.alerts[0]).toEqual({
      text: "Key ci has used 80% of its balance: 8e-8 of 1e-7 credits.",
      kind: "balance_threshold",
      state: "firing",
      subject: { type: "key", id: key.id, label: "ci" },
      at: iso(nowMs),
      details: {
        level: 80,
        limit: 1e-7,
        used: 8e-8,
        unit: "credits",
        account: key.accountId,
        period: null,
        models: null,
        resets_at: null,
      },
    });
    expect(hook.alerts[2]?.text).toBe("Key ci is below 80% of its balance again.");
    const [post] = hook.posts;
    const seconds = Math.floor(nowMs / 1000);
    const digest = createHmac("sha256", secret).update(`${seconds}.${post?.body}`).digest("hex");
    expect(post?.headers.get("x-sluice-signature")).toBe(`t=${seconds},v1=${digest}`);
    await store.close();
  },
);

testEachStore("a hook that is away gets every alert later, in order, and is not logged", async (database) => {
  const clock = new FakeClock();
  const nowMs = clock.wallMs();
  using hook = new HookServer();
  hook.answer = () => new Response("no", { status: 500 });
  const store = await database.openGateway(clock);
  const { monitor, logged } = monitorOf(store, clock, hook);
  const key = keyRecord({ expiresAtMs: nowMs + msPerDay });
  await store.insertKey(key, 0);
  await monitor.check();
  expect(hook.told("key_expiring")).toEqual(["firing"]);
  await monitor.check();
  await store.updateKey(key.id, { expiresAtMs: null });
  await monitor.check();
  expect(hook.told("key_expiring")).toEqual(["firing"]);
  hook.answer = () => new Response("ok");
  clock.advance(5_000);
  await monitor.check();
  await monitor.check();
  expect(hook.told("key_expiring")).toEqual(["firing", "firing", "resolved"]);
  expect(hook.alerts[1]).toEqual(hook.alerts[0] as (typeof hook.alerts)[number]);
  expect(JSON.stringify(logged)).toContain("the webhook returned 500");
  expect(JSON.stringify(logged)).not.toContain("hook-canary");
  await store.close();
});

testEachStore("what was not delivered for a day is given up", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  hook.answer = () => new Response("no", { status: 503 });
  const store = await database.openGateway(clock);
  const { monitor, logged } = monitorOf(store, clock, hook);
  await store.insertKey(keyRecord({ expiresAtMs: clock.wallMs() + 3 * msPerDay }), 0);
  await monitor.check();
  clock.advance(msPerDay);
  await monitor.check();
  expect(hook.posts).toHaveLength(2);
  expect(JSON.stringify(logged.at(-1))).toContain("alert dropped");
  clock.advance(msPerDay / 2);
  await monitor.check();
  expect(hook.posts).toHaveLength(2);
  await store.close();
});

testEachStore(
  "an alert outlasts a crash before its delivery, and begins no second time",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    hook.answer = () => new Response("no", { status: 503 });
    const first = await database.openGateway(clock);
    await first.insertKey(keyRecord({ expiresAtMs: clock.wallMs() + msPerDay }), 0);
    await monitorOf(first, clock, hook, { leadForMs: 1 }).monitor.check();
    await first.close();
    hook.answer = () => new Response("ok");
    clock.advance(60_000);
    const second = await database.openGateway(clock);
    const { monitor } = monitorOf(second, clock, hook);
    await waitFor(async () => {
      await monitor.check();
      return hook.posts.length > 1;
    }, "the alert to be delivered");
    await monitor.check();
    expect(hook.told("key_expiring")).toEqual(["firing", "firing"]);
    await second.close();
  },
);

testEachStore("a slow hook is never sent two at once, and nothing twice", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const gate = Promise.withResolvers<void>();
  hook.answer = async () => {
    await gate.promise;
    return new Response("ok");
  };
  const store = await database.openGateway(clock);
  const other = await database.openOperator(clock);
  for (let each = 0; each < 3; each += 1) {
    await store.insertKey(keyRecord({ expiresAtMs: clock.wallMs() + msPerDay }), 0);
  }
  const one = monitorOf(store, clock, hook).monitor;
  const looking = one.check();
  await waitFor(() => hook.posts.length === 1, "the first post");
  // On SQLite a folder has one gateway; of several on PostgreSQL this one does not lead.
  const looks = [
    one.check(),
    ...(store.nodes === null ? [] : [monitorOf(other, clock, hook).monitor.check()]),
  ];
  await Promise.all(looks.slice(1));
  gate.resolve();
  await Promise.all([looking, ...looks]);
  await one.check();
  expect(hook.mostAtOnce).toBe(1);
  expect(new Set(hook.alerts.map(({ subject }) => subject.id)).size).toBe(3);
  expect(hook.posts).toHaveLength(3);
  await other.close();
  await store.close();
});

testEachStore(
  "what one gateway has found is listed by all, until it is over or nobody says so",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    const store = await database.openGateway(clock);
    const failing = { sinceMs: 7, atMs: 9, failure: "billing", providerMessage: "a prompt-canary" };
    let health: DeploymentHealth[] = [deploymentHealth({ alarm: "billing", failing })];
    const one = monitorOf(store, clock, hook, { deploymentHealth: () => health }).monitor;
    const two = monitorOf(store, clock, hook).monitor;
    await one.check();
    await two.check();
    expect(two.list).toMatchObject([{ kind: "provider_billing", sinceMs: 7, lastError: "a prompt-canary" }]);
    expect(await readAlertViews({ store, clock })).toMatchObject([
      { kind: "provider_billing", since: iso(7) },
    ]);
    expect(hook.told("provider_billing")).toEqual(["firing"]);
    expect(hook.posts[0]?.body).not.toContain("prompt-canary");
    clock.advance(40_000);
    await one.check();
    clock.advance(40_000);
    await two.check();
    expect(two.list).toHaveLength(1);
    health = [];
    await one.check();
    await two.check();
    expect(two.list).toEqual([]);
    await one.check();
    expect(hook.told("provider_billing")).toEqual(["firing", "resolved"]);
    await store.close();
  },
);

testEachStore(
  "what a stopped gateway had found is not shown, and a restart ends no alert",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    const store = await database.openGateway(clock);
    const health = [deploymentHealth({ alarm: "billing" })];
    const failing = { deploymentHealth: () => health, leadForMs: 1 };
    const { monitor } = monitorOf(store, clock, hook, failing);
    await waitFor(async () => {
      await monitor.check();
      return hook.posts.length === 1;
    }, "the post");
    expect(await readAlertViews({ store, clock })).toHaveLength(1);
    await monitor.stop();
    expect(await readAlertViews({ store, clock })).toEqual([]);
    const next = monitorOf(store, clock, hook).monitor;
    await next.check();
    expect(next.list).toEqual([]);
    expect(hook.told("provider_billing")).toEqual(["firing"]);
    clock.advance(60_000);
    await next.check();
    expect(hook.told("provider_billing")).toEqual(["firing", "resolved"]);
    expect(hook.alerts.at(-1)?.text).toStartWith("The state of provider openai is unknown");
    await store.close();
  },
);

testEachStore("a provider answers again only if each deployment in the alert has", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  let health: DeploymentHealth[] = [];
  const { monitor } = monitorOf(store, clock, hook, { deploymentHealth: () => health });
  const failing = ["openai/a", "openai/b"].map((name) => deploymentHealth({ name, alarm: "billing" }));
  const answered = (name: string) => deploymentHealth({ name, answeredAtMs: clock.wallMs() });
  const lookAt = async (...now: readonly DeploymentHealth[]) => {
    health = [...now];
    await monitor.check();
    return [hook.posts.length, hook.alerts.at(-1)?.text ?? ""] as const;
  };
  expect(await lookAt(...failing)).toEqual([1, expect.stringContaining("billing problem")]);
  // Of the other nothing is known any more.
  expect(await lookAt(answered("openai/a"))).toEqual([2, expect.stringContaining("is unknown")]);
  await lookAt(...failing);
  expect(await lookAt(answered("openai/a"), answered("openai/b"))).toEqual([
    4,
    "Provider openai responds again.",
  ]);
  expect(monitor.list).toEqual([]);
  // An answer of long ago says nothing about now.
  await lookAt(...failing);
  const before = [answered("openai/a"), answered("openai/b")];
  clock.advance(120_000);
  expect(await lookAt(...before)).toEqual([6, expect.stringContaining("is unknown")]);
  await store.close();
});

testEachStore("a provider that fails in another way than before is one update", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  let health = [deploymentHealth({ alarm: "billing" })];
  const { monitor } = monitorOf(store, clock, hook, { deploymentHealth: () => health });
  await monitor.check();
  health = [deploymentHealth({ consecutiveFailures: 3 })];
  await monitor.check();
  await monitor.check();
  const told = hook.alerts.map(({ kind, state, details }) => [kind, state, details["previous_kind"]]);
  expect(told).toEqual([
    ["provider_billing", "firing", undefined],
    ["provider_failing", "firing", "provider_billing"],
  ]);
  health = [
    deploymentHealth({ consecutiveFailures: 3 }),
    deploymentHealth({ name: "openai/b", alarm: "status_401" }),
    deploymentHealth({ name: "other/c", provider: "other", slow: { calls: 8, cancelled: 8 } }),
  ];
  await monitor.check();
  health = [deploymentHealth({ consecutiveFailures: 3 })];
  await monitor.check();
  expect(hook.alerts.slice(2).map(({ kind, state, text }) => [kind, state, text])).toEqual([
    ["provider_auth", "firing", expect.any(String)],
    [
      "provider_slow",
      "firing",
      "Provider other is slow: of 8 calls, clients cancelled 8 before the first byte (other/c).",
    ],
    [
      "provider_auth",
      "resolved",
      "Provider openai no longer fails in this way. Provider openai is failing (openai/gpt: incomplete response).",
    ],
    ["provider_slow", "resolved", expect.stringContaining("is unknown")],
  ]);
  await store.close();
});

testEachStore("what a gateway finds only as it stops begins no alert", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  const health = [deploymentHealth({ alarm: "billing" })];
  await monitorOf(store, clock, hook, { deploymentHealth: () => health }).monitor.stop();
  const next = monitorOf(store, clock, hook).monitor;
  await next.check();
  clock.advance(60_000);
  await next.check();
  expect(hook.posts).toEqual([]);
  await store.close();
});

testEachStore("a store that is away is told from memory, and so is its return", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  let problem: StoreProblem | null = null;
  const { monitor } = monitorOf(store, clock, hook, { problem: () => problem });
  await monitor.check();
  await store.close();
  problem = { reason: "The database is away.", advice: "Look after it." };
  hook.answer = () => new Response("no", { status: 500 });
  await monitor.check();
  expect(monitor.list.map(({ kind }) => kind)).toEqual(["store_unavailable"]);
  hook.answer = () => new Response("ok");
  await monitor.check();
  await monitor.check();
  expect(hook.told("store_unavailable")).toEqual(["firing", "firing"]);
  problem = null;
  await monitor.check();
  expect(hook.told("store_unavailable")).toEqual(["firing", "firing", "resolved"]);
});

testEachStore("a store that can still be written says itself that no work is taken", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  let problem: StoreProblem | null = { reason: "The disk is full.", advice: "Make room." };
  const { monitor } = monitorOf(store, clock, hook, { problem: () => problem });
  const listed = async () => (await readAlertViews({ store, clock })).map(({ kind }) => kind);
  await monitor.check();
  await monitor.check();
  expect(await listed()).toEqual(["store_unavailable"]);
  expect(monitor.list).toHaveLength(1);
  problem = null;
  await monitor.check();
  expect([await listed(), monitor.list]).toEqual([[], []]);
  expect(hook.told("store_unavailable")).toEqual(["firing", "resolved"]);
  await store.close();
});

testEachStore("an audit that failed is told until one finds no difference", async (database) => {
  const clock = new FakeClock();
  using hook = new HookServer();
  const store = await database.openGateway(clock);
  const { monitor } = monitorOf(store, clock, hook);
  const faulty = new Proxy<Store>(store, {
    get: (target, name) => {
      if (name === "auditSums") return async () => [fault];
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const found = await auditLedger({ store: faulty, clock }, {});
  expect(found.differences).toHaveLength(1);
  await monitor.check();
  clock.advance(30 * msPerDay);
  await monitor.check();
  expect(hook.alerts.map(({ text }) => text)).toEqual([
    "The audit of the ledger found 1 difference; `sluice ledger audit` lists them.",
  ]);
  expect((await auditLedger({ store, clock }, {})).differences).toEqual([]);
  await monitor.check();
  expect(hook.told("audit_failed")).toEqual(["firing", "resolved"]);
  await store.close();
});

testEachStore(
  "a stop does not wait for the hook, and what it had not accepted is sent after the next start",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    hook.answer = () => new Promise(() => {});
    const store = await database.openGateway(clock);
    await store.insertKey(keyRecord({ expiresAtMs: clock.wallMs() + msPerDay }), 0);
    const { monitor, logged } = monitorOf(store, clock, hook, { leadForMs: 1 });
    const looking = monitor.check();
    await waitFor(() => hook.posts.length === 1, "the post");
    await monitor.stop();
    await looking;
    expect(logged).toEqual([]);
    hook.answer = () => new Response("ok");
    clock.advance(5_000);
    const next = monitorOf(store, clock, hook).monitor;
    await waitFor(async () => {
      await next.check();
      return hook.posts.length === 2;
    }, "the post after the next start");
    await store.close();
  },
);

test("a stop does not wait for a store that does not answer", async () => {
  using hook = new HookServer();
  const silent = new Proxy({} as Store["alerts"], { get: () => () => new Promise(() => {}) });
  const failing = { deploymentHealth: () => [deploymentHealth({ alarm: "billing" })] };
  const store = { alerts: silent, nodes: null } as Store;
  const amidLook = monitorOf(store, new FakeClock(), hook, failing).monitor;
  void amidLook.check();
  const { monitor } = monitorOf(store, new FakeClock(), hook, failing);
  await Promise.all([amidLook.stop(), monitor.stop()]);
  expect(hook.posts).toEqual([]);
});
