import { describe, expect, test } from "bun:test";
import { makeRates } from "../../../src/base/money/rates.ts";
import { type CallerLabels, readLabels } from "../../../src/base/requests/labels.ts";
import { storedLabels } from "../../../src/gateway/request/labels.ts";
import { dimensionOf } from "../../../src/store/reporting/dimensions.ts";
import type { ExchangeQuery } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, outcomeRecordOf, settleItem } from "../fixtures.ts";

const ada = {
  owner: "ada@example.com",
  user: "ada",
  session: 's \u{1f600} "1"',
  agent: "a2",
  parentAgent: "a1",
  tags: { project: "atlas", "a.b::c": "c:d@e" },
};
const bob = { owner: null, user: "bob", session: null, agent: null, parentAgent: null, tags: {} };
const usual = { affinity: "conversation", batch: null, fallbackFrom: null, steppedDownFrom: null } as const;

/** As the gateway writes them; of these values reports tell `uncounted` not apart. */
function textOf(labels: CallerLabels, uncounted?: string): string {
  return JSON.stringify(storedLabels(labels, (_, value) => value !== uncounted));
}

describe("what a caller says about a request", () => {
  testEachStore(
    "is kept with its charge and with its outcomeRecord, and can be searched for",
    async (database) => {
      const store = await database.openGateway(new FakeClock());
      const key = keyRecord();
      await store.insertKey(key, 10_000);
      const charged = settleItem(key.id, 10, { labels: textOf(ada) });
      const nameless = settleItem(key.id, 10);
      const rejected = outcomeRecordOf(key.id, { labels: textOf(bob) });
      const failed = settleItem(key.id, 10, { labels: textOf(ada), outcome: "failed" });
      const { exchangeId } = failed.charge;
      const outcomeRecord = outcomeRecordOf(key.id, { exchangeId, outcome: "failed", labels: textOf(ada) });
      await store.charge([charged, nameless, { ...failed, outcomeRecord }]);
      await store.recordOutcomes([rejected]);

      const labelsOf = async (id: string) => (await store.reports.exchange(id, null))?.exchange?.labels;
      expect(await labelsOf(charged.charge.exchangeId)).toEqual({ ...ada, ...usual });
      expect(await labelsOf(nameless.charge.exchangeId)).toEqual(readLabels(null));
      expect(await labelsOf(rejected.exchangeId)).toEqual({ ...bob, ...usual });
      expect(await labelsOf(exchangeId)).toEqual({ ...ada, ...usual });

      const found = async (labels: ExchangeQuery["labels"]) => {
        const { rows } = await store.reports.exchanges({ limit: 10, labels });
        return rows.map((row) => row.exchangeId).sort();
      };
      const adas = [charged.charge.exchangeId, exchangeId].sort();
      expect(await found({ user: "ada" })).toEqual(adas);
      expect(await found({ session: ada.session, "tag:a.b::c": "c:d@e" })).toEqual(adas);
      expect(await found({ "tag:project": "atlas", user: "bob" })).toEqual([]);
      expect(await found({ agent: "a2" })).toEqual(adas);
      expect(await found({ agent: "a1" })).toEqual([]);
      expect(await found({ user: "bob" })).toEqual([rejected.exchangeId]);
      expect(await found({ "tag:it's": "a" })).toEqual([]);
      await store.close();
    },
  );

  testEachStore("survives strings that a database could not read", async (database) => {
    const store = await database.openGateway(new FakeClock());
    const key = keyRecord();
    await store.insertKey(key, 10_000);
    const odd = {
      ...bob,
      user: "a\0b\ud800",
      session: "\u{1f600}".repeat(200),
    };
    const item = settleItem(key.id, 10, { labels: textOf(odd) });
    await store.charge([item]);
    const { rows } = await store.reports.exchanges({ limit: 10, labels: { user: "ab\ufffd" } });
    expect(rows.map(({ labels }) => labels.session)).toEqual(["\u{1f600}".repeat(128)]);
    await store.close();
  });
});

testEachStore(
  "usage is grouped by what callers say, alone and with others, and adds up",
  async (database) => {
    const clock = new FakeClock();
    const store = await database.openGateway(clock);
    const key = keyRecord();
    await store.insertKey(key, 10_000);
    const eve = { ...bob, user: "eve" };
    const spent: readonly [number, string | null][] = [
      [1, textOf(ada)],
      [2, textOf(bob)],
      [4, textOf(eve, "eve")],
      [8, null],
      [16, JSON.stringify({ affinity: "none", batch: "batch_1" })],
    ];
    await store.charge(spent.map(([nano, labels]) => settleItem(key.id, nano, { labels })));
    await store.recordOutcomes([outcomeRecordOf(key.id, { labels: textOf(bob) })]);
    const check = async (reader: typeof store) => {
      const by = async (...names: string[]) => {
        const rows = await reader.reports.usageByAll(names, { sinceMs: 0, untilMs: Date.UTC(2027, 0) });
        return rows.map(({ groups, spendNano, rejected }) => [...groups, spendNano + rejected * 100]);
      };
      expect(await by("user")).toEqual([
        [null, 24],
        ["ada", 1],
        ["bob", 102],
        ["other", 4],
      ]);
      expect(await by("session")).toEqual([
        [null, 130],
        [ada.session, 1],
      ]);
      expect(await by("agent", "parent_agent")).toEqual([
        [null, null, 130],
        ["a2", "a1", 1],
      ]);
      expect(await by("batch")).toEqual([
        [null, 115],
        ["batch_1", 16],
      ]);
      const lines = await reader.reports.exchanges({ limit: 10, labels: { batch: "batch_1" } });
      expect(lines.rows.map(({ labels }) => labels.batch)).toEqual(["batch_1"]);
      expect(await by("tag:project")).toEqual([
        [null, 130],
        ["atlas", 1],
      ]);
      expect(await by("tag:a.b::c", "user")).toEqual([
        [null, null, 24],
        [null, "bob", 102],
        [null, "other", 4],
        ["c:d@e", "ada", 1],
      ]);
      expect(await by("day", "user")).toHaveLength(4);
    };
    await check(store);
    await store.close();
    const reopened = await database.openGateway(clock);
    await check(reopened);
    expect((await reopened.reports.exchanges({ limit: 10, labels: { user: "eve" } })).rows).toHaveLength(1);
    await reopened.close();
  },
);

testEachStore(
  "the usage of one session is read alone, also where reports count it as other",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [key, other] = [keyRecord(), keyRecord()];
    for (const each of [key, other]) await store.insertKey(each, 10_000);
    const spend = (keyId: string, nano: number, labels: string) => settleItem(keyId, nano, { labels });
    const child = { ...ada, agent: "a3", parentAgent: "a2" };
    await store.charge([
      spend(key.id, 1, textOf(ada)),
      spend(key.id, 2, textOf(ada, ada.session)),
      spend(key.id, 4, textOf(child)),
      spend(key.id, 8, textOf({ ...ada, session: "another" })),
      spend(key.id, 16, textOf({ ...bob, session: ada.session })),
      spend(other.id, 32, textOf(child)),
      spend(key.id, 64, textOf(bob)),
    ]);
    const range = { sinceMs: 0, untilMs: Date.UTC(2027, 0), order: "worth", skip: 0, limit: 2 } as const;
    const agents = async (keyId?: string) => {
      const query = { ...range, session: ada.session, keyId };
      const { groups, count, total } = await store.reports.usagePage(["agent", "parent_agent"], query);
      return [...groups.map(({ groups, spendNano }) => [...groups, spendNano]), [count, total.spendNano]];
    };
    expect(await agents()).toEqual([
      ["a3", "a2", 36],
      [null, null, 16],
      [3, 55],
    ]);
    expect(await agents(key.id)).toEqual([
      [null, null, 16],
      ["a3", "a2", 4],
      [3, 23],
    ]);
    await store.close();
  },
);

testEachStore("what an owner has spent stays theirs when the key gets another one", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [key, other] = [keyRecord({ owner: "ada@example.com" }), keyRecord()];
  for (const each of [key, other]) await store.insertKey(each, 10_000);
  const spend = (keyId: string, nano: number, owner: string | null) =>
    settleItem(keyId, nano, { labels: textOf({ ...bob, owner }) });
  await store.charge([
    spend(key.id, 1, "Ada@Example.com"),
    spend(other.id, 2, null),
    // As it was stored before owners were.
    settleItem(key.id, 4, { labels: null }),
  ]);
  const byOwner = async () => {
    const rows = await store.reports.usageByAll(["owner"], { sinceMs: 0, untilMs: Date.UTC(2027, 0) });
    return rows.map(({ groups, spendNano }) => [...groups, spendNano]);
  };
  expect(await byOwner()).toEqual([
    [null, 2],
    ["ada@example.com", 5],
  ]);
  for (const { id } of [key, other]) await store.updateKey(id, { owner: "ben" });
  expect(await byOwner()).toEqual([
    [null, 2],
    ["ada@example.com", 1],
    ["ben", 4],
  ]);
  await store.close();
});

test("usage is grouped by no tag whose name could mean something to a database", () => {
  for (const name of ["tag", "tag:", "tag:a'b", "tag:a b", `tag:${"x".repeat(65)}`, "user:ada", "affinity"]) {
    expect(dimensionOf(name)).toBeNull();
  }
  expect(dimensionOf("tag:a.b:c@d-e_f")).not.toBeNull();
});

testEachStore("what caching has saved is summed up, before and after it is rolled up", async (database) => {
  const clock = new FakeClock();
  const store = await database.openGateway(clock);
  const key = keyRecord();
  await store.insertKey(key, 10_000);
  const picoUsd = { input: 1_000_000, cached_input: 100_000, cache_write: 1_250_000, output: 2_000_000 };
  const rates = makeRates({ microUsdPerCredit: 1_000_000, picoUsd, tiers: [], inputAbove: null });
  const charges = [
    { input: 10, cached_input: 90 },
    { input: 10, cache_write: 100 },
    { input: 100, output: 5 },
  ];
  await store.charge(charges.map((quantities) => settleItem(key.id, 10, { rates, quantities })));
  const savings = async (reader: typeof store) => {
    const [figures] = await summarizeUsage(reader, { by: "model", sinceMs: 0 });
    return figures?.cacheSavingsNano;
  };
  // 90 tokens at 0.9 less, and 100 at 0.25 more, in thousands of nano-credits.
  expect(await savings(store)).toBe(90 * 900 - 100 * 250);
  await store.close();
  const reopened = await database.openGateway(clock);
  expect(await savings(reopened)).toBe(90 * 900 - 100 * 250);
  expect(await reopened.auditSums()).toEqual([]);
  await reopened.close();
});
