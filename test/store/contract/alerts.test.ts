import { expect } from "bun:test";
import { msPerDay } from "../../../src/base/clock.ts";
import { FakeClock } from "../../support/clock.ts";
import { waitFor } from "../../support/wait.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, settleItem } from "../fixtures.ts";

const clock = new FakeClock();
const nowMs = clock.wallMs();
const longAgo = { createdAtMs: nowMs - 30 * msPerDay };

testEachStore(
  "balances, budgets and caps are listed from 80 % on, of keys and accounts in use",
  async (database) => {
    const store = await database.openGateway(clock);
    const used = async (overrides: Parameters<typeof keyRecord>[0], credit: number, charged: number) => {
      const key = keyRecord({ ...longAgo, ...overrides });
      await store.insertKey(key, credit);
      await store.charge([settleItem(key.id, charged, { atMs: nowMs - 8 * msPerDay, countedAtMs: nowMs })]);
      return key.id;
    };
    const balance = await used({ label: "ci" }, 100, 80);
    const budget = await used({ mode: "token_budget", budgetTokens: 100, period: "none" }, 0, 95);
    await used({}, 100, 40);
    await used({ isPostpaid: true }, 0, 100);
    await store.updateKey(await used({}, 100, 100), { status: "revoked" });
    await used({ expiresAtMs: nowMs - 1 }, 100, 100);
    const capped = await used({}, 100_000, 45);
    await store.setCaps(
      { keyId: capped },
      [
        { limit: 50, period: "month", models: "house-*" },
        { limit: 100, period: "week", models: null },
      ],
      nowMs,
    );
    const { listed, more } = await store.alerts.drawnBounds(nowMs);
    expect(more).toBe(0);
    expect(listed).toHaveLength(3);
    expect(listed.find(({ keyId }) => keyId === balance)).toMatchObject({
      bound: "balance",
      label: "ci",
      limit: 100,
      used: 80,
      capNo: null,
    });
    expect(listed.find(({ keyId }) => keyId === budget)).toMatchObject({
      bound: "budget",
      limit: 100,
      used: 95,
    });
    expect(listed.find(({ keyId }) => keyId === capped)).toMatchObject({
      bound: "key_cap",
      limit: 50,
      used: 45,
      period: "month",
      models: "house-*",
    });
    // In the next month nothing is used of the cap.
    expect((await store.alerts.drawnBounds(nowMs + 31 * msPerDay)).listed).toHaveLength(2);
    await store.close();
  },
);

testEachStore("an account that several keys draw on is listed as itself", async (database) => {
  const store = await database.openGateway(clock);
  const [one, other] = [keyRecord(longAgo), keyRecord(longAgo)];
  for (const key of [one, other]) await store.insertKey(key, 10);
  await store.moveKey(other.id, one.accountId, Date.now());
  const charge = { atMs: nowMs, countedAtMs: nowMs, accountId: one.accountId };
  await store.charge([settleItem(one.id, 4, charge), settleItem(other.id, 5, charge)]);
  const bound = { bound: "balance", accountId: one.accountId, keyId: null, limit: 10, used: 9 };
  expect(await store.alerts.drawnBounds(nowMs)).toMatchObject({ listed: [bound], more: 0 });
  await store.close();
});

testEachStore(
  "what an account has used in the last seven days is known, of all its keys",
  async (database) => {
    const store = await database.openGateway(clock);
    const key = keyRecord({ createdAtMs: nowMs - 2 * msPerDay });
    await store.insertKey(key, 100);
    for (const [days, charged] of [
      [0, 10],
      [6, 20],
      [7, 9],
    ] as const) {
      const atMs = nowMs - days * msPerDay;
      const item = settleItem(key.id, charged, { atMs, countedAtMs: nowMs });
      await store.charge([{ ...item, record: item.record && { ...item.record, atMs } }]);
    }
    // Both databases write sums a little later; this brings PostgreSQL's up to date.
    await store.pruneRequestLog({ beforeMs: 0, keep: 1, limit: 1 });
    await waitFor(async () => {
      const [bound] = (await store.alerts.drawnBounds(nowMs)).listed;
      return bound?.used === 39 && bound.recentlyUsed === 30;
    }, "what was used in the last seven days");
    await store.close();
  },
);

testEachStore("keys that expire soon are listed, the first to expire first", async (database) => {
  const store = await database.openOperator(clock);
  const expiring = async (inDays: number, overrides = {}) => {
    const key = keyRecord({ ...longAgo, expiresAtMs: nowMs + inDays * msPerDay, ...overrides });
    await store.insertKey(key, 0);
    return key.id;
  };
  const later = await expiring(7);
  const first = await expiring(1);
  await expiring(8);
  await expiring(-1);
  await expiring(1, { status: "revoked" });
  const { listed, more } = await store.alerts.expiringKeys(nowMs, nowMs + 7 * msPerDay);
  expect(more).toBe(0);
  expect(listed.map(({ id }) => id)).toEqual([first, later]);
  await store.close();
});

testEachStore("what a source has found is replaced by it, and believed for a time", async (database) => {
  const store = await database.openOperator(clock);
  await store.alerts.publish("a", "[1]", 0, 50);
  await store.alerts.publish("b", "[2]", 0, 100);
  await store.alerts.publish("b", "[3]", 0, 100);
  expect(await store.alerts.published(10)).toEqual(["[1]", "[3]"]);
  expect(await store.alerts.published(50)).toEqual(["[3]"]);
  await store.alerts.publish("b", "[4]", 60, 70);
  expect(await store.alerts.published(10)).toEqual(["[4]"]);
  await store.close();
});

testEachStore("posts outlast a restart, and those of one alert keep their order", async (database) => {
  const store = await database.openGateway(clock);
  const post = (alertId: string, body: string) => ({ alertId, body, madeAtMs: 100 });
  await store.alerts.recordAlerts({
    fired: [
      { id: "x", level: 80, finding: "{}" },
      { id: "y", level: 0, finding: "{}" },
    ],
    resolved: [],
    posts: [post("x", "begin x"), post("y", "begin y")],
  });
  await store.alerts.recordAlerts({
    fired: [{ id: "y", level: 95, finding: "{1}" }],
    resolved: ["x"],
    posts: [post("x", "end x")],
  });
  await store.close();
  const again = await database.openGateway(clock);
  const { alerts } = again;
  expect(await alerts.firing()).toEqual([{ id: "y", level: 95, finding: "{1}" }]);
  expect(await alerts.duePosts(99, 10)).toEqual([]);
  const [first, second, ...none] = await alerts.duePosts(100, 10);
  expect([first?.body, second?.body, none]).toEqual(["begin x", "begin y", []]);
  await alerts.postponePost(first?.no ?? 0, 200);
  await alerts.removePost(second?.no ?? 0);
  expect(await alerts.duePosts(199, 10)).toEqual([]);
  await alerts.removePost(first?.no ?? 0);
  expect((await alerts.duePosts(100, 10)).map(({ body }) => body)).toEqual(["end x"]);
  await again.close();
});

testEachStore("what is no longer active is past, once for each time that it began", async (database) => {
  const store = await database.openGateway(clock);
  const { alerts } = store;
  const alert = (id: string, text = "{}") => ({ id, alert: text });
  await alerts.noteActive([alert("x"), alert("y")], 100);
  await alerts.noteActive([alert("x", "{1}")], 200);
  expect(await alerts.listPast(10)).toEqual([{ ...alert("y"), beganAtMs: 100, endedAtMs: 200 }]);
  await alerts.noteActive([alert("y")], 300);
  await alerts.noteActive([], 400);
  expect((await alerts.listPast(10)).map(({ id, alert: text, beganAtMs }) => [id, text, beganAtMs])).toEqual([
    ["y", "{}", 300],
    ["x", "{1}", 100],
    ["y", "{}", 100],
  ]);
  await alerts.noteActive([], 250 + 90 * msPerDay);
  expect(await alerts.listPast(10)).toHaveLength(2);
  await store.close();
});

testEachStore("of several gateways one sends alerts", async (database) => {
  const store = await database.openOperator(clock);
  expect(await store.alerts.lead("a", 60_000)).toBe(true);
  expect(await store.alerts.lead("a", 60_000)).toBe(true);
  // A folder has one gateway.
  expect(await store.alerts.lead("b", 60_000)).toBe(store.nodes === null);
  await store.close();
});

testEachStore("models are known that were requested since, and no others", async (database) => {
  const store = await database.openGateway(clock);
  const key = keyRecord(longAgo);
  await store.insertKey(key, 1_000);
  for (const [model, atMs] of [["old", nowMs - 40 * msPerDay] as const, ["new", nowMs] as const]) {
    const { record, ...item } = settleItem(key.id, 5, { atMs, model });
    await store.charge([{ ...item, record: record && { ...record, model, atMs } }]);
  }
  expect([...(await store.alerts.modelsRequestedSince(nowMs - 30 * msPerDay))]).toEqual(["new"]);
  await store.close();
});

testEachStore(
  "a kind of alert is acknowledged until a moment, and again by someone else",
  async (database) => {
    const store = await database.openGateway(clock);
    const first = { kind: "price_outdated", actor: "ada", untilMs: nowMs + 10 };
    await store.alerts.acknowledge(first);
    expect(await store.alerts.acknowledged(nowMs)).toEqual([first]);
    expect(await store.alerts.acknowledged(nowMs + 10)).toEqual([]);
    const second = { ...first, actor: "grace", untilMs: nowMs + 20 };
    await store.alerts.acknowledge(second);
    expect(await store.alerts.acknowledged(nowMs + 10)).toEqual([second]);
    await store.close();
  },
);
