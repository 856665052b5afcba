import { describe, expect, test } from "bun:test";
import { unknownModelMessage } from "../../../src/base/models/unknown-model.ts";
import type { AttemptRecord } from "../../../src/base/requests/attempt.ts";
import { readLabels } from "../../../src/base/requests/labels.ts";
import { OutcomeQueue } from "../../../src/store/outcome-queue.ts";
import { RequestLogRetention } from "../../../src/store/request-log-retention.ts";
import type { OutcomeRecord, Store } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { waitFor } from "../../support/wait.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, outcomeRecordOf, settleItem } from "../fixtures.ts";
import type { GatewayStore, TestDatabase } from "../kind.ts";

const noonMs = Date.UTC(2026, 10, 15, 12);

async function withStore(
  database: TestDatabase,
  work: (store: GatewayStore, reopen: () => Promise<Store>) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  let store = await database.openGateway(clock);
  const reopen = async () => {
    await store.close();
    store = await database.openGateway(clock);
    return store;
  };
  try {
    await work(store, reopen);
  } finally {
    await store.close();
  }
}

const attempt: AttemptRecord = {
  deployment: "openai/gpt-5.6",
  provider: "openai",
  upstreamModel: "gpt-5.6",
  status: 500,
  code: "upstream_error",
  failure: "status_500",
  cause: null,
  said: "on fire",
  durationMs: 12,
  left: "ended",
};

describe("endings", () => {
  testEachStore("are filed with their charges, wherever these are in a long batch", async (database) => {
    await withStore(database, async (store) => {
      const key = keyRecord({});
      await store.insertKey(key, 1_000_000);
      const ids = Array.from({ length: 70 }, (_, no) => `req_${no}`);
      await store.charge(
        ids.map((exchangeId) => ({
          ...settleItem(key.id, 1, { exchangeId }),
          outcomeRecord:
            exchangeId === "req_31" || exchangeId === "req_64"
              ? outcomeRecordOf(key.id, { exchangeId })
              : null,
        })),
      );
      for (const id of ["req_31", "req_64"]) {
        const found = await store.reports.exchange(id, null);
        expect(found?.exchange?.exchangeId).toBe(id);
        expect(found?.entries.map(({ exchangeId }) => exchangeId)).toEqual([id]);
      }
    });
  });

  testEachStore("keep the limit that denied a hold, and what the hold asked for", async (database) => {
    await withStore(database, async (store) => {
      const key = keyRecord({});
      await store.insertKey(key, 1_000);
      const denied = { bound: "key_cap", needed: 8_000_000_000 };
      await store.recordOutcomes([
        outcomeRecordOf(key.id, { exchangeId: "req_denied", ...denied }),
        outcomeRecordOf(key.id, { exchangeId: "req_other" }),
      ]);
      const kept = async (id: string) => (await store.reports.exchange(id, null))?.exchange;
      expect(await kept("req_denied")).toMatchObject(denied);
      expect(await kept("req_other")).toMatchObject({ bound: null, needed: null });
    });
  });

  testEachStore("are kept whatever characters a client or a provider has sent", async (database) => {
    await withStore(database, async (store) => {
      const key = keyRecord({ label: "a\0b" });
      await store.insertKey(key, 1_000);
      const odd = ["model\0", "model\uD800", "model"].map((model, index) =>
        outcomeRecordOf(key.id, { exchangeId: `req_${index}`, model, message: `There is no ${model}.` }),
      );
      await store.recordOutcomes(odd);
      for (const { exchangeId } of odd) expect(await store.reports.exchange(exchangeId, null)).not.toBeNull();
    });
  });

  testEachStore("are found by the name of a model that there is not, as by any other", async (database) => {
    await withStore(database, async (store) => {
      const key = keyRecord();
      await store.insertKey(key, 1_000);
      const unknown = (exchangeId: string, name: string) =>
        outcomeRecordOf(key.id, { exchangeId, model: "", message: unknownModelMessage(name) });
      await store.recordOutcomes([
        unknown("req_typo", "claude-typo"),
        unknown("req_other", "claude-typo-2"),
        unknown("req_long", "x".repeat(200)),
        outcomeRecordOf(key.id, { exchangeId: "req_known", model: "claude", message: null }),
      ]);
      const found = async (model: string) =>
        (await store.reports.exchanges({ limit: 10, model })).rows.map(({ exchangeId }) => exchangeId);
      expect(await found("claude-typo")).toEqual(["req_typo"]);
      expect(await found("x".repeat(200))).toEqual(["req_long"]);
      expect(await found("claude")).toEqual(["req_known"]);
    });
  });

  testEachStore("come back as they were, with their attempts", async (database) => {
    await withStore(database, async (store) => {
      const key = keyRecord();
      await store.insertKey(key, 1_000);
      const outcomeRecord = outcomeRecordOf(key.id, {
        outcome: "failed",
        status: 502,
        code: "upstream_error",
        message: "The provider failed.",
        model: "house-model",
        provider: "openai",
        upstreamModel: "gpt-5.6",
        attempts: 1,
        attemptDetails: [attempt],
      });
      await store.recordOutcomes([outcomeRecord]);
      const { attemptDetails, atMs, ...kept } = outcomeRecord;
      expect(await store.reports.exchange(outcomeRecord.exchangeId, null)).toEqual({
        exchange: {
          ...kept,
          endedAtMs: atMs,
          entryId: null,
          usage: null,
          units: null,
          basis: null,
          charged: 0,
          listCostNano: null,
          labels: readLabels(null),
        },
        attempts: [attempt],
        entries: [],
      });
    });
  });

  testEachStore(
    "are part of the figures at once, after they were rolled up, and after a restart",
    async (database) => {
      await withStore(database, async (store, reopen) => {
        const key = keyRecord();
        await store.insertKey(key, 10_000);
        const cancelled = settleItem(key.id, 40, { outcome: "cancelled", model: "m", provider: "p" });
        const outcomeRecord = outcomeRecordOf(key.id, {
          exchangeId: cancelled.holdId,
          outcome: "cancelled",
          model: "m",
        });
        await store.charge([settleItem(key.id, 100), { ...cancelled, record: null, outcomeRecord }]);
        await store.recordOutcomes([
          outcomeRecordOf(key.id, { alike: 9 }),
          outcomeRecordOf(key.id, { outcome: "failed", status: 502, model: "m", totalMs: 700 }),
          outcomeRecordOf(key.id, { outcome: "cancelled", model: "m" }),
        ]);
        const expected = {
          requests: 1,
          completed: 1,
          failed: 1,
          rejected: 10,
          cancelled: 2,
          spendNano: 140,
          cancelledSpendNano: 40,
          totalMs: 781,
          totalCount: 2,
        };
        const check = async (reader: Store) => {
          for (const by of ["key", "day", "hour"] as const) {
            expect(await summarizeUsage(reader, { by, sinceMs: 0 })).toMatchObject([expected]);
          }
          for (const keyId of [undefined, key.id]) {
            const range = { sinceMs: noonMs, untilMs: noonMs + 60_000, nowMs: noonMs, keyId } as const;
            expect(await summarizeUsage(reader, { by: "key", ...range })).toMatchObject([expected]);
          }
          const models = await summarizeUsage(reader, { by: "model", sinceMs: 0 });
          expect(
            models.map(({ group, rejected, failed, cancelled }) => [group, rejected, failed, cancelled]),
          ).toEqual([
            ["", 10, 0, 0],
            ["house-model", 0, 0, 0],
            ["m", 0, 1, 2],
          ]);
        };
        await check(store);
        const later = await reopen();
        await check(later);
        const found = await later.reports.exchange(cancelled.holdId, null);
        expect(found?.exchange).toMatchObject({ outcome: "cancelled", charged: 40, usage: null });
        await check(await reopen());
      });
    },
  );

  testEachStore(
    "are listed with the completed ones by the moment they ended, page by page, each once",
    async (database) => {
      await withStore(database, async (store) => {
        const key = keyRecord();
        await store.insertKey(key, 1_000_000);
        const expected: string[] = [];
        for (let second = 0; second < 40; second += 1) {
          const atMs = noonMs + second * 1000;
          if (second % 3 === 0) {
            const item = settleItem(key.id, 1, { atMs });
            await store.charge([item]);
            expected.push(item.charge.exchangeId);
          } else {
            const outcomeRecord = outcomeRecordOf(key.id, { atMs, code: second % 2 === 0 ? "even" : "odd" });
            await store.recordOutcomes([outcomeRecord]);
            expected.push(outcomeRecord.exchangeId);
          }
        }
        expected.reverse();
        for (const limit of [1, 3, 7, 100]) {
          const seen: string[] = [];
          for (let cursor: string | undefined; ; ) {
            const page = await store.reports.exchanges({ limit, cursor });
            expect(page.rows.length).toBeLessThanOrEqual(limit);
            seen.push(...page.rows.map(({ exchangeId }) => exchangeId));
            if (page.next === null) break;
            cursor = page.next;
          }
          expect(seen).toEqual(expected);
        }
        const count = async (query: object) =>
          (await store.reports.exchanges({ limit: 100, ...query })).rows.length;
        expect(await count({ outcome: "completed" })).toBe(14);
        expect(await count({ outcome: "rejected" })).toBe(26);
        expect(await count({ code: "even" })).toBe(13);
        expect(await count({ sinceMs: noonMs + 30_000 })).toBe(10);
        expect(await count({ untilMs: noonMs + 30_000 })).toBe(30);
        expect(await count({ sinceMs: noonMs + 10_000, untilMs: noonMs + 30_000 })).toBe(20);
        expect(await count({ untilMs: noonMs })).toBe(0);
        expect(await count({ outcome: "failed" })).toBe(0);
      });
    },
  );
});

describe("the queue of endings", () => {
  testEachStore(
    "keeps the first of a kind one by one, and counts the rest of a flood exactly",
    async (database) => {
      await withStore(database, async (store) => {
        const key = keyRecord();
        await store.insertKey(key, 1_000);
        const queue = new OutcomeQueue({ store, onDropped: () => {} });
        for (let call = 0; call < 20_000; call += 1) queue.take(outcomeRecordOf(key.id));
        queue.take(outcomeRecordOf(key.id, { code: "insufficient_credit", status: 402 }));
        await queue.close();
        expect(queue.dropped).toBe(0);
        const { rows } = await store.reports.exchanges({ limit: 500 });
        expect(rows.length).toBeLessThan(150);
        expect(rows.filter(({ code }) => code === "insufficient_credit")).toHaveLength(1);
        expect(rows.reduce((sum, { alike }) => sum + 1 + alike, 0)).toBe(20_001);
        expect(await summarizeUsage(store, { by: "key", sinceMs: 0 })).toMatchObject([{ rejected: 20_001 }]);
      });
    },
  );

  test("is bounded while nothing can be written, and says what it dropped", async () => {
    const gate = Promise.withResolvers<void>();
    const written: OutcomeRecord[] = [];
    const recordOutcomes = async (endings: readonly OutcomeRecord[]) => {
      await gate.promise;
      written.push(...endings);
    };
    const reported: number[] = [];
    const queue = new OutcomeQueue({ store: { recordOutcomes }, onDropped: (count) => reported.push(count) });
    const calls = 30_000;
    for (let call = 0; call < calls; call += 1) queue.take(outcomeRecordOf(`key_${call}`));
    // A reader waits a moment for it, and no longer.
    await queue.flush();
    expect(written).toEqual([]);
    gate.resolve();
    await queue.close();
    const kept = written.reduce((sum, { alike }) => sum + 1 + alike, 0);
    expect(written.length).toBeLessThan(5_000);
    expect(queue.dropped).toBe(calls - kept);
    expect(reported.reduce((sum, count) => sum + count, 0)).toBe(queue.dropped);
  });

  test("counts as dropped what a broken store rejects", async () => {
    const recordOutcomes = () => Promise.reject(new Error("the disk is gone"));
    const queue = new OutcomeQueue({ store: { recordOutcomes }, onDropped: () => {} });
    for (let call = 0; call < 60; call += 1) queue.take(outcomeRecordOf("key_1"));
    await queue.close();
    expect(queue.dropped).toBe(60);
  });

  testEachStore("writes by itself soon", async (database) => {
    await withStore(database, async (store) => {
      const key = keyRecord();
      await store.insertKey(key, 1_000);
      const queue = new OutcomeQueue({ store, onDropped: () => {} });
      for (let call = 0; call < 60; call += 1) queue.take(outcomeRecordOf(key.id));
      const rejected = async () => (await summarizeUsage(store, { by: "key", sinceMs: 0 }))[0]?.rejected;
      await waitFor(async () => (await rejected()) === 60, "the window to end");
      await queue.close();
    });
  });
});

describe("retention", () => {
  testEachStore(
    "deletes what is too old or too many, oldest first, and no figure changes",
    async (database) => {
      await withStore(database, async (store) => {
        const key = keyRecord();
        await store.insertKey(key, 1_000);
        const clock = new FakeClock();
        const dayMs = 86_400_000;
        for (let age = 40; age >= 0; age -= 1) {
          const endings = Array.from({ length: 20 }, () =>
            outcomeRecordOf(key.id, { atMs: clock.wallMs() - age * dayMs, code: `day ${age}` }),
          );
          await store.recordOutcomes(endings);
        }
        let limits = { requestsMs: 30 * dayMs, requestRows: 1_000_000 };
        const onError = (error: unknown) => {
          throw error;
        };
        const retention = new RequestLogRetention({ store, clock, limits: () => limits, onError });
        await retention.prune();
        expect(await store.reports.requestLogSize()).toMatchObject({
          oldestAtMs: clock.wallMs() - 30 * dayMs,
          count: 31 * 20,
        });
        limits = { ...limits, requestRows: 50 };
        await retention.prune();
        const { rows } = await store.reports.exchanges({ limit: 500 });
        expect(rows).toHaveLength(50);
        expect(new Set(rows.map(({ code }) => code))).toEqual(new Set(["day 0", "day 1", "day 2"]));
        const days = await summarizeUsage(store, { by: "key", sinceMs: 0 });
        expect(days).toMatchObject([{ rejected: 41 * 20 }]);
      });
    },
  );
});
