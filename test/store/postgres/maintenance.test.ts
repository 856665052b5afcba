import { describe, expect, test } from "bun:test";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { openStore } from "../../../src/store/open.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import { bookCharges } from "./charge.ts";
import { clientOf, migratedDatabase, type PostgresDatabase } from "./fixtures.ts";

function open({ url }: PostgresDatabase, clock: Clock, role: "gateway" | "operator") {
  return openStore({ location: { url, password: null, prepare: true }, clock, role });
}

async function tablesLike({ url }: PostgresDatabase, pattern: string): Promise<string[]> {
  const client = clientOf(url, { max: 1 });
  const rows = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE tablename LIKE $1 ORDER BY 1",
    [pattern],
  );
  await client.close();
  return rows.map(({ name }) => name);
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a gateway's store", () => {
    test("makes the months that come, and a command does not", async () => {
      await using database = await migratedDatabase();
      const clock = { ...systemClock, wallMs: () => Date.UTC(2041, 10, 30) };
      await (await open(database, clock, "operator")).close();
      expect(await tablesLike(database, "entries_204%")).toEqual([]);
      const stores = await Promise.all([open(database, clock, "gateway"), open(database, clock, "gateway")]);
      expect(await tablesLike(database, "entries_204%")).toEqual([
        "entries_2041_11",
        "entries_2041_12",
        "entries_2042_01",
      ]);
      for (const store of stores) await store.close();
    });

    test("adds up usage by itself while it runs, and the rest when it stops", async () => {
      await using database = await migratedDatabase();
      const store = await open(database, systemClock, "gateway");
      const key = keyRecord();
      await store.insertKey(key, 1_000);
      const client = clientOf(database.url, { max: 1 });
      const counted = async () => {
        const [row] = await client.query<{ requests: number }>(
          "SELECT coalesce(sum(requests), 0)::int AS requests FROM usage_hours WHERE key_no = 0",
        );
        return row?.requests;
      };
      await bookCharges(client, [settleItem(key.id, 1)]);
      await waitFor(async () => (await counted()) === 1, "the charge to be in the sums");
      await bookCharges(client, [settleItem(key.id, 1)]);
      await waitFor(async () => (await counted()) === 2, "the next one too");
      await bookCharges(client, [settleItem(key.id, 1)]);
      await store.close();
      expect(await counted()).toBe(3);
      await client.close();
    }, 120_000);

    test("that closes waits for what it was given to write", async () => {
      await using database = await migratedDatabase();
      const store = await open(database, systemClock, "operator");
      const key = keyRecord();
      await store.insertKey(key, 0);
      const locker = clientOf(database.url, { max: 1 });
      const ended: string[] = [];
      const given = { keyId: key.id, provider: "p", credential: null, idKeys: ["d"], tokens: 1, atMs: 1 };
      const { writing, closing } = await locker.transaction(async (query) => {
        await query("LOCK TABLE issued_ids");
        const writing = store.recordIssuedIds(given).then(
          () => ended.push("written"),
          (error) => ended.push(String(error)),
        );
        const isWaiting = async () =>
          (await query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).length > 0;
        await waitFor(isWaiting, "the write to wait");
        const closing = store.close().then(() => ended.push("closed"));
        return { writing, closing };
      });
      await Promise.all([writing, closing]);
      expect(ended).toEqual(["written", "closed"]);
      await locker.close();
    });
  });
