import { describe, expect } from "bun:test";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import type { AuditQuery } from "../../../src/store/store.ts";
import { usageRecords } from "../../support/usage.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, outcomeRecordOf, type SettleItem, settleItem } from "../fixtures.ts";
import type { GatewayStore, TestDatabase } from "../kind.ts";

const hourMs = 3_600_000;
const noonMs = Date.UTC(2026, 10, 15, 12);
const clock: Clock = { ...systemClock, wallMs: () => noonMs };

interface Spent {
  readonly atMs: number;
  readonly costNano: number;
  readonly model?: string;
}

function spent(keyId: string, { atMs, costNano, model = "house-model" }: Spent): SettleItem {
  const item = settleItem(keyId, costNano, { atMs });
  if (item.record === null) throw new Error("the fixture has a record");
  return { ...item, record: { ...item.record, atMs, model } };
}

async function withStore(
  database: TestDatabase,
  work: (store: GatewayStore, reopen: () => Promise<GatewayStore>) => Promise<void>,
): Promise<void> {
  const open: GatewayStore[] = [await database.openGateway(clock)];
  const [first] = open;
  if (first === undefined) throw new Error("no store");
  const reopen = async () => {
    await open.pop()?.close();
    const next = await database.openGateway(clock);
    open.push(next);
    return next;
  };
  try {
    await work(first, reopen);
  } finally {
    await open.pop()?.close();
  }
}

const day = { sinceMs: noonMs - 24 * hourMs, untilMs: noonMs + hourMs } as const;

describe("sums", () => {
  testEachStore("count an exchange at once, and once only after they were written", async (database) => {
    await withStore(database, async (store, reopen) => {
      const key = keyRecord();
      await store.insertKey(key, 1_000_000);
      await store.charge([
        spent(key.id, { atMs: noonMs, costNano: 70 }),
        spent(key.id, { atMs: noonMs - 2 * hourMs, costNano: 5 }),
      ]);
      const expected = [
        expect.objectContaining({ startMs: noonMs - 2 * hourMs, requests: 1, spendNano: 5 }),
        expect.objectContaining({ startMs: noonMs, requests: 1, spendNano: 70 }),
      ];
      expect(await store.reports.usageInSteps({ ...day, stepMs: hourMs })).toEqual(expected);
      const unused = keyRecord();
      await store.insertKey(unused, 0);
      const lastDays = new Map([[key.id, Math.floor(noonMs / (24 * hourMs))]]);
      expect(await store.reports.keyLastDays([key.id, unused.id])).toEqual(lastDays);
      const later = await reopen();
      expect(await later.reports.usageInSteps({ ...day, stepMs: hourMs })).toEqual(expected);
      expect(await later.reports.keyLastDays([unused.id, key.id])).toEqual(lastDays);
      expect(await later.reports.keyLastDays([])).toEqual(new Map());
      expect(await later.reports.keyDays([key.id], 20_000, 21_000)).toEqual([
        { keyId: key.id, day: Math.floor(noonMs / (24 * hourMs)), spendNano: 75, spendTokens: 0 },
      ]);
    });
  });

  testEachStore("name the largest spenders first", async (database) => {
    await withStore(database, async (store, reopen) => {
      const [small, large] = [keyRecord(), keyRecord()];
      await store.insertKey(small, 1_000_000);
      await store.insertKey(large, 1_000_000);
      await store.charge([
        spent(small.id, { atMs: noonMs, costNano: 10, model: "a" }),
        spent(large.id, { atMs: noonMs, costNano: 90, model: "b" }),
        spent(large.id, { atMs: noonMs - 60 * 24 * hourMs, costNano: 900, model: "a" }),
      ]);
      const { reports } = await reopen();
      const models = await reports.usageBy("model", { ...day, largest: 5 });
      expect(models.map(({ group, spendNano }) => [group, spendNano])).toEqual([
        ["b", 90],
        ["a", 10],
      ]);
      const [largest, ...others] = await reports.usageBy("model", { ...day, largest: 1 });
      expect([largest?.group, others]).toEqual(["b", []]);
      const keys = await reports.usageBy("key", { ...day, largest: 1 });
      expect(keys.map(({ group, spendNano }) => [group, spendNano])).toEqual([[large.id, 90]]);
    });
  });
});

testEachStore(
  "the largest come by what is shown: spend, or list cost where nothing was spent",
  async (database) => {
    await withStore(database, async (store) => {
      const [credit, budget] = [keyRecord(), keyRecord({ mode: "token_budget" })];
      await store.insertKey(credit, 1_000_000);
      await store.insertKey(budget, 0);
      const listed = (model: string, listCostNano: number): SettleItem => {
        const item = spent(budget.id, { atMs: noonMs, costNano: 15, model });
        return { ...item, charge: { ...item.charge, listCostNano } };
      };
      await store.charge([
        spent(credit.id, { atMs: noonMs, costNano: 90, model: "most" }),
        listed("only listed", 40),
        spent(credit.id, { atMs: noonMs, costNano: 10, model: "both" }),
        listed("both", 500),
      ]);
      const shown = await store.reports.usageBy("model", { ...day, largest: 3 });
      expect(shown.map(({ group, spendNano, listCostNano }) => [group, spendNano, listCostNano])).toEqual([
        ["most", 90, 0],
        ["only listed", 0, 40],
        ["both", 10, 500],
      ]);
      const [first] = await store.reports.usageBy("key", { ...day, largest: 1 });
      expect(first?.group).toBe(budget.id);
    });
  },
);

describe("what is asked about one key and one range", () => {
  testEachStore("is of that key and that range, before it is in the sums and after", async (database) => {
    await withStore(database, async (store, reopen) => {
      const [key, other] = [keyRecord(), keyRecord()];
      await store.insertKey(key, 1_000_000);
      await store.insertKey(other, 1_000_000);
      const charges = [
        spent(key.id, { atMs: noonMs, costNano: 1 }),
        spent(key.id, { atMs: noonMs - 26 * hourMs, costNano: 10 }),
        spent(key.id, { atMs: noonMs + 3 * hourMs, costNano: 100 }),
        spent(other.id, { atMs: noonMs, costNano: 1_000 }),
      ];
      const figures = async ({ reports }: GatewayStore) => {
        const asked = { ...day, keyId: key.id };
        const groups = [
          await reports.usageInSteps({ ...asked, stepMs: hourMs }),
          await reports.usageBy("model", asked),
          await reports.usageBy("provider", asked),
          await reports.usageBy("key", asked),
          await reports.usageBy("model", { ...asked, sinceMs: noonMs - hourMs }),
        ];
        return groups.map((rows) => rows.map(({ spendNano }) => spendNano));
      };
      await store.charge(charges);
      expect(await figures(store)).toEqual([[1], [1], [1], [1], [1]]);
      expect(await figures(await reopen())).toEqual([[1], [1], [1], [1], [1]]);
    });
  });
});

describe("one call under a clock that is five hours ahead", () => {
  const minuteMs = 60_000;
  const lastHour = (nowMs: number) => ({ sinceMs: nowMs - hourMs, untilMs: nowMs + minuteMs }) as const;

  testEachStore("takes nothing from the last hour of the others", async (database) => {
    const nowMs = Date.now();
    const store = await database.openGateway(systemClock);
    const key = keyRecord();
    await store.insertKey(key, 1_000_000);
    const charge = (agoMs: number, costNano: number) =>
      store.charge([spent(key.id, { atMs: nowMs - agoMs, costNano })]);
    await charge(50 * minuteMs, 10);
    await charge(20 * minuteMs, 20);
    await charge(-5 * hourMs, 40);
    await charge(minuteMs, 80);
    // Its close writes the sums.
    await store.close();
    const later = await database.openGateway(systemClock);
    const steps = await later.reports.usageInSteps({ ...lastHour(nowMs), stepMs: minuteMs });
    expect(steps.map(({ spendNano }) => spendNano)).toEqual([10, 20, 80]);
    const listed = await later.reports.exchanges({ limit: 9, sinceMs: nowMs - hourMs, untilMs: nowMs });
    expect(listed.rows.map(({ charged }) => charged)).toEqual([80, 20, 10]);
    await later.close();
  });

  testEachStore("does not hide what was written after it from a search by time", async (database) => {
    const nowMs = Date.now();
    const store = await database.openGateway(systemClock);
    const key = keyRecord();
    await store.insertKey(key, 1_000_000);
    // Wherever a search by halves may look first.
    for (let wrong = 0; wrong < 12; wrong += 1) {
      const items = Array.from({ length: 12 }, (_, place) => {
        const agoMs = place === wrong ? -5 * hourMs : (200 - wrong * 12 - place) * minuteMs;
        return spent(key.id, { atMs: nowMs - agoMs, costNano: 1 });
      });
      await store.charge(items);
      const { rows } = await store.reports.exchanges({
        limit: 200,
        sinceMs: nowMs - 4 * hourMs,
        untilMs: nowMs,
      });
      expect(rows).toHaveLength((wrong + 1) * 11);
    }
    await store.close();
  });
});

describe("exchanges", () => {
  testEachStore("are found by their key, its owner, a code or a tag", async (database) => {
    await withStore(database, async (store) => {
      const one = { ...keyRecord(), prefix: "slu_searched", label: "Search 100%", owner: "ada@example.com" };
      const other = { ...keyRecord(), label: "Else" };
      await store.insertKey(one, 1_000_000);
      await store.insertKey(other, 1_000_000);
      const charged = settleItem(one.id, 10);
      const tagged = settleItem(other.id, 10, { labels: JSON.stringify({ "tag:project": "atlas" }) });
      const refused = outcomeRecordOf(other.id, { code: "rate_limit_exceeded" });
      await store.charge([charged, tagged]);
      await store.recordOutcomes([refused]);
      const found = async (search: string) =>
        (await store.reports.exchanges({ limit: 9, search })).rows.map((row) => row.exchangeId).sort();
      const ofOne = [charged.charge.exchangeId];
      for (const text of ["100%", "ADA@", one.id, "slu_searc"]) expect(await found(text)).toEqual(ofOne);
      expect(await found("rate_limit")).toEqual([refused.exchangeId]);
      expect(await found("project=atlas")).toEqual([tagged.charge.exchangeId]);
      expect(await found("else")).toEqual([tagged.charge.exchangeId, refused.exchangeId].sort());
      for (const text of ["1%0", "project=", "it's=x", "rate%limit"]) expect(await found(text)).toEqual([]);
    });
  });

  testEachStore("come newest first, filtered, a page at a time", async (database) => {
    await withStore(database, async (store) => {
      const [one, other] = [keyRecord(), keyRecord()];
      await store.insertKey(one, 1_000_000);
      await store.insertKey(other, 1_000_000);
      const items: SettleItem[] = Array.from({ length: 6 }, (_, place) =>
        spent(place % 2 === 0 ? one.id : other.id, { atMs: noonMs, costNano: place + 1 }),
      );
      await store.charge(items);
      const first = await store.reports.exchanges({ limit: 2, keyId: one.id });
      expect(first.rows.map((row) => row.charged)).toEqual([5, 3]);
      const cursor = first.next ?? "";
      const second = await store.reports.exchanges({ limit: 2, keyId: one.id, cursor });
      expect(second.rows.map((row) => row.charged)).toEqual([1]);
      expect(second.next).toBeNull();
      expect((await store.reports.exchanges({ limit: 9, model: "nobody's" })).rows).toEqual([]);
    });
  });

  testEachStore("are found by id, with their charge and their overrun", async (database) => {
    await withStore(database, async (store) => {
      const key = keyRecord();
      await store.insertKey(key, 1_000);
      const item = spent(key.id, { atMs: noonMs, costNano: 600 });
      await store.charge([{ ...item, charge: { ...item.charge, overrun: 40 } }]);
      const id = item.charge.exchangeId;
      const found = await store.reports.exchange(id, null);
      expect(found?.exchange?.charged).toBe(600);
      expect(found?.entries.map(({ kind, amount }) => [kind, amount])).toEqual([
        ["charge", -600],
        ["overrun", 40],
      ]);
      expect(await store.reports.exchange(id, found?.exchange?.entryId ?? 0)).toEqual(found);
      expect(await store.reports.exchange("req_unknown", null)).toBeNull();
    });
  });
});

describe("the admin's own records", () => {
  testEachStore("replace the token of a trial once, by one of a real start", async (database) => {
    await withStore(database, async ({ admin }) => {
      const save = (hash: string, isTrial: boolean) => admin.saveAdminToken({ hash, isTrial });
      expect(await save("trial", true)).toBe("trial");
      expect(await save("another node's trial", true)).toBe("trial");
      expect(await save("real", false)).toBe("real");
      expect(await save("another node's", false)).toBe("real");
      expect(await save("a later trial", true)).toBe("real");
      expect(await admin.readAdminToken()).toEqual({ hash: "real", isTrial: false });
    });
  });

  testEachStore("remember the keys of a trial", async (database) => {
    await withStore(database, async (store, reopen) => {
      expect(await store.admin.listTrialKeys()).toEqual([]);
      for (const id of ["key_b", "key_a"]) await store.admin.addTrialKey(id);
      expect(await (await reopen()).admin.listTrialKeys()).toEqual(["key_a", "key_b"]);
    });
  });

  testEachStore("keep the audit log and the token's hash", async (database) => {
    await withStore(database, async (store, reopen) => {
      expect(await store.admin.readAdminToken()).toBeNull();
      await store.admin.saveAdminToken({ hash: "ab12", isTrial: false });
      const change = { atMs: 1, actor: "token", address: "::1", target: null, detail: null };
      await store.admin.appendAudit({ ...change, action: "key.create" });
      await store.admin.appendAudit({ ...change, action: "key.revoke" });
      const later = await reopen();
      expect(await later.admin.readAdminToken()).toEqual({ hash: "ab12", isTrial: false });
      const newest = await later.admin.listAudit({ limit: 1 });
      expect(newest.map(({ action }) => action)).toEqual(["key.revoke"]);
      const older = await later.admin.listAudit({ limit: 5, beforeId: newest[0]?.id });
      expect(older.map(({ action }) => action)).toEqual(["key.create"]);
      const byAda = { ...change, atMs: 2, actor: "Ada@x", action: "key.topup", detail: "50% more_" };
      await later.admin.appendAudit(byAda);
      const found = async (query: Omit<AuditQuery, "limit">) =>
        (await later.admin.listAudit({ limit: 5, ...query })).map(({ action }) => action);
      expect(await found({ search: "ada@" })).toEqual(["key.topup"]);
      expect(await found({ search: "KEY.RE" })).toEqual(["key.revoke"]);
      expect(await found({ search: "50% more_" })).toEqual(["key.topup"]);
      expect(await found({ search: "5_%" })).toEqual([]);
      expect(await found({ sinceMs: 2 })).toEqual(["key.topup"]);
      expect(await found({ untilMs: 2, search: "::1" })).toEqual(["key.revoke", "key.create"]);
    });
  });

  testEachStore("keep the tokens that operators made, and when they were revoked", async (database) => {
    await withStore(database, async (store, reopen) => {
      const token = {
        id: "adm_1",
        label: "ci",
        role: "viewer",
        hash: "cd34",
        createdBy: "ada",
        identity: null,
        createdAtMs: 5,
      } as const;
      const second = { ...token, id: "adm_2", hash: "ef56", createdAtMs: 6, revokedAtMs: null };
      await store.admin.insertToken({ ...token, revokedAtMs: null });
      // By its label the wrong one of two would be revoked.
      await expect(store.admin.insertToken(second)).rejects.toMatchObject({ reason: "label_taken" });
      await store.admin.revokeToken("adm_1", 7);
      await store.admin.insertToken(second);
      await store.admin.revokeToken("adm_1", 8);
      const later = await reopen();
      expect(await later.admin.listTokens()).toEqual([{ ...token, revokedAtMs: 7 }, second]);
      expect(await later.admin.tokenByHash(second.hash)).toEqual(second);
      expect([await later.admin.tokenByHash(token.hash), await later.admin.tokenByHash("ab")]).toEqual([
        null,
        null,
      ]);
    });
  });
});

describe("a search", () => {
  testEachStore("finds what a key did before it was moved to another account", async (database) => {
    await withStore(database, async (store) => {
      const [key, other] = [keyRecord(), keyRecord()];
      for (const made of [key, other]) await store.insertKey(made, 1_000);
      await store.charge([spent(key.id, { atMs: noonMs - hourMs, costNano: 7 })]);
      await store.moveKey(key.id, other.accountId, Date.now());
      const accountId = other.accountId;
      await store.charge([
        settleItem(key.id, 5, { atMs: noonMs, accountId }),
        spent(other.id, { atMs: noonMs, costNano: 1 }),
      ]);
      const { rows } = await store.reports.exchanges({ limit: 9, keyId: key.id });
      expect(rows.map(({ charged }) => charged)).toEqual([5, 7]);
      const entries = await store.reports.entries({ limit: 9, keyId: key.id, kind: "charge" });
      expect(entries.rows.map((entry) => [entry.accountId, entry.amount])).toEqual([
        [other.accountId, -5],
        [key.accountId, -7],
      ]);
      const paid = await store.reports.entries({ limit: 9, accountId, kind: "charge" });
      expect(paid.rows.map((entry) => [entry.keyId, entry.amount])).toEqual([
        [other.id, -1],
        [key.id, -5],
      ]);
      const records = await usageRecords(store, { keyId: key.id });
      expect(records.map(({ costNano }) => costNano)).toEqual([5, 7]);
    });
  });

  testEachStore("begins at the last exchange before a time, however long before", async (database) => {
    await withStore(database, async (store) => {
      const key = keyRecord();
      await store.insertKey(key, 1_000);
      const times = [noonMs - 400 * 24 * hourMs, noonMs - 2 * hourMs, noonMs - hourMs, noonMs];
      await store.charge(times.map((atMs, index) => spent(key.id, { atMs, costNano: index + 1 })));
      const before = async (untilMs: number) =>
        (await store.reports.exchanges({ limit: 9, untilMs })).rows.map(({ charged }) => charged);
      expect(await before(noonMs + 1)).toEqual([4, 3, 2, 1]);
      expect(await before(noonMs)).toEqual([3, 2, 1]);
      expect(await before(noonMs - 2 * hourMs)).toEqual([1]);
      expect(await before(noonMs - 400 * 24 * hourMs)).toEqual([]);
    });
  });
});
