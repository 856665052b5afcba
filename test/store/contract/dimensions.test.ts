import { expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { dimensionNames } from "../../../src/store/reporting/dimensions.ts";
import type { KeyRecord, Store } from "../../../src/store/store.ts";
import { sumTotals } from "../../../src/store/store.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, outcomeRecordOf, settleItem } from "../fixtures.ts";
import type { GatewayStore } from "../kind.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const noonMs = Date.UTC(2026, 10, 15, 12);
const range = { sinceMs: Date.UTC(2026, 8, 1), untilMs: noonMs + 10 * dayMs, nowMs: noonMs } as const;

interface Spending {
  readonly atMs: number;
  readonly nano: number;
  readonly model?: string;
  readonly route?: string;
}

async function spend(store: GatewayStore, { id, accountId }: KeyRecord, spending: Spending): Promise<void> {
  const { atMs, nano, model = "a", route = "/v1/messages" } = spending;
  const item = settleItem(id, nano, { atMs, accountId, model });
  if (item.record === null) throw new Error("it has a usage record");
  await store.charge([{ ...item, record: { ...item.record, atMs, model, route } }]);
}

async function spends(store: Store, ...dimensions: string[]) {
  const rows = await store.reports.usageByAll(dimensions, range);
  return rows.map(({ groups, spendNano }) => [...groups, spendNano]);
}

testEachStore(
  "usage is grouped by every dimension, alone and in pairs, and adds up to the total",
  async (database) => {
    const store = await database.openGateway(systemClock);
    const ada = keyRecord({ owner: "ada" });
    const [also, none] = [keyRecord({ owner: "ada" }), keyRecord()];
    for (const key of [ada, also, none]) await store.insertKey(key, 1e6);
    await spend(store, ada, { atMs: noonMs - 40 * dayMs, nano: 1 });
    await spend(store, ada, { atMs: noonMs, nano: 2, model: "b", route: "/v1/responses" });
    await spend(store, also, { atMs: noonMs, nano: 4 });
    await spend(store, none, { atMs: noonMs + hourMs, nano: 8 });
    await store.recordOutcomes([outcomeRecordOf(none.id, { atMs: noonMs })]);
    const check = async (reader: Store) => {
      expect(await spends(reader, "owner")).toEqual([
        [null, 8],
        ["ada", 7],
      ]);
      expect(await spends(reader, "month")).toEqual([
        ["2026-10", 1],
        ["2026-11", 14],
      ]);
      expect(await spends(reader, "route")).toEqual([
        ["/v1/chat/completions", 0],
        ["/v1/messages", 13],
        ["/v1/responses", 2],
      ]);
      expect(await spends(reader, "model")).toEqual([
        [null, 0],
        ["a", 13],
        ["b", 2],
      ]);
      expect(await spends(reader, "owner", "model")).toEqual([
        [null, null, 0],
        [null, "a", 8],
        ["ada", "a", 5],
        ["ada", "b", 2],
      ]);
      expect(await spends(reader, "month", "owner")).toEqual([
        ["2026-10", "ada", 1],
        ["2026-11", null, 8],
        ["2026-11", "ada", 6],
      ]);
      for (const one of dimensionNames) {
        for (const other of dimensionNames.filter((name) => name !== one)) {
          const { spendNano, requests, rejected } = sumTotals(
            await reader.reports.usageByAll([one, other], range),
          );
          expect({ one, other, spendNano, requests, rejected }).toEqual({
            one,
            other,
            spendNano: 15,
            requests: 4,
            rejected: 1,
          });
        }
      }
      const groupings = dimensionNames.filter((name) => !["hour", "day", "month"].includes(name));
      for (const names of [...groupings.map((name) => [name]), ["owner", "key"], ["model", "tag:NAME"]]) {
        const groups = await reader.reports.usageByAll(names, range);
        const series = groups.map((group) => group.groups);
        const steps = await reader.reports.usageSeries(names, { ...range, step: "day", series });
        const whole = (place: number) => sumTotals(steps.filter((step) => step.place === place));
        expect({ names, sums: groups.map((_, place) => whole(place).spendNano) }).toEqual({
          names,
          sums: groups.map(({ spendNano }) => spendNano),
        });
        const only = await reader.reports.usageSeries(names, {
          ...range,
          step: "hour",
          series: series.slice(0, 1),
        });
        expect(sumTotals(only).spendNano).toBe(groups[0]?.spendNano ?? 0);
      }
    };
    await check(store);
    await store.close();
    const again = await database.openGateway(systemClock);
    await check(again);
    await again.close();
  },
);

testEachStore(
  "an account keeps what was spent from it when a key moves away, and the key its whole history",
  async (database) => {
    const store = await database.openGateway(systemClock);
    const [key, other] = [keyRecord(), keyRecord()];
    for (const made of [key, other]) await store.insertKey(made, 1e6);
    await spend(store, key, { atMs: noonMs - dayMs, nano: 3 });
    const moved = await store.moveKey(key.id, other.accountId, Date.now());
    await spend(store, moved, { atMs: noonMs, nano: 5 });
    await spend(store, other, { atMs: noonMs, nano: 7 });
    await store.updateAccount(key.accountId, { closedAtMs: noonMs });
    await store.updateKey(key.id, { status: "revoked" });
    const byAccount = new Map((await spends(store, "account")) as [string, number][]);
    expect(byAccount).toEqual(
      new Map([
        [key.accountId, 3],
        [other.accountId, 12],
      ]),
    );
    const byKey = new Map((await spends(store, "key")) as [string, number][]);
    expect(byKey).toEqual(
      new Map([
        [key.id, 8],
        [other.id, 7],
      ]),
    );
    const ofAccount = await store.reports.usageByAll(["day", "key"], {
      ...range,
      accountId: other.accountId,
    });
    expect(ofAccount.map(({ groups, spendNano }) => [...groups, spendNano]).toSorted()).toEqual(
      [
        ["2026-11-15", key.id, 5],
        ["2026-11-15", other.id, 7],
      ].toSorted(),
    );
    await store.close();
  },
);
