import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { PostgresClient } from "../../../src/store/postgres/client.ts";
import { rollUp } from "../../../src/store/postgres/rollup.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { keyRecord, outcomeRecordOf, settleItem } from "../fixtures.ts";
import type { GatewayStore } from "../kind.ts";
import { bookCharges } from "./charge.ts";
import { clientOf } from "./fixtures.ts";
import { postgres } from "./kind.ts";

/** A charge whose transaction stays open until it is let go. */
function openCharge(client: PostgresClient, keyId: string) {
  const booked = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const done = client.transaction(async (query) => {
    const nested = {
      query: client.query,
      transaction: (work: (inner: typeof query) => Promise<void>) => work(query),
    };
    // It uses nothing else of a client.
    await bookCharges(nested as PostgresClient, [settleItem(keyId, 7)]);
    booked.resolve();
    await letGo.promise;
  });
  return { booked: booked.promise, commit: letGo.resolve, done };
}

const spent = async (store: GatewayStore) => {
  const [sums] = await summarizeUsage(store, { by: "key", sinceMs: 0 });
  return { requests: sums?.requests, spendNano: sums?.spendNano, rejected: sums?.rejected };
};

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("ids that are not committed in their order", () => {
    test("are all exported and counted, however late the earliest is committed", async () => {
      await using database = await postgres.create();
      const store = await database.openGateway(systemClock);
      // Each on an account of its own, so that the second need not wait for the first.
      const [slow, fast] = [keyRecord(), keyRecord()];
      await store.insertKey(slow, 1_000);
      await store.insertKey(fast, 1_000);
      const client = clientOf(database.url);
      const late = openCharge(client, slow.id);
      await late.booked;
      await store.charge([settleItem(fast.id, 5)]);
      const [before] = await client.query<{ through: number }>(
        "SELECT entries_through::int AS through FROM rollups",
      );
      expect(await rollUp(client)).toBe(false);
      const [after] = await client.query<{ through: number }>(
        "SELECT entries_through::int AS through FROM rollups",
      );
      expect(after).toEqual(before as { through: number });
      const sumsMeanwhile = await summarizeUsage(store, { by: "key", sinceMs: 0 });
      expect(sumsMeanwhile.map(({ spendNano }) => spendNano)).toEqual([5]);
      const exporting = store.listEntries({ afterId: 2, limit: 10 });
      late.commit();
      await late.done;
      expect((await exporting).map(({ id, amount }) => [id, amount])).toEqual([
        [3, -7],
        [4, -5],
      ]);
      await rollUp(client);
      const sums = await summarizeUsage(store, { by: "key", sinceMs: 0 });
      expect(sums.map(({ spendNano }) => spendNano).toSorted()).toEqual([5, 7]);
      await client.close();
      await store.close();
    });

    test("are counted exactly once while many write and many add up", async () => {
      await using database = await postgres.create();
      const store = await database.openGateway(systemClock);
      const key = keyRecord();
      await store.insertKey(key, 1_000_000);
      const client = clientOf(database.url, { max: 8 });
      let isOver = false;
      const adding = Array.from({ length: 3 }, async () => {
        while (!isOver) await rollUp(client);
      });
      const [writers, charges] = [4, 25];
      const writing = Array.from({ length: writers }, async () => {
        for (let count = 0; count < charges; count += 1) {
          await bookCharges(client, [settleItem(key.id, 1), settleItem(key.id, 2)]);
          await store.recordOutcomes([outcomeRecordOf(key.id, { alike: 1 })]);
        }
      });
      await Promise.all(writing);
      const [requests, rejected] = [2 * writers * charges, 2 * writers * charges];
      expect(await spent(store)).toEqual({ requests, spendNano: (requests / 2) * 3, rejected });
      isOver = true;
      await Promise.all(adding);
      await rollUp(client);
      const [left] = await client.query<{ rows: number }>(
        "SELECT count(*)::int AS rows FROM sluice_uncounted_usage()",
      );
      expect(left).toEqual({ rows: 0 });
      expect(await spent(store)).toEqual({ requests, spendNano: (requests / 2) * 3, rejected });
      await client.close();
      await store.close();
    });
  });
