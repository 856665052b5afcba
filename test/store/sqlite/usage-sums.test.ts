import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { JournaledStore } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { waitFor } from "../../support/wait.ts";
import { keyRecord, settleItem, temporaryFolder, usageRecord } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

const dayMs = 86_400_000;
const noonMs = Date.UTC(2026, 10, 15, 12);

async function commitRecord(
  store: JournaledStore,
  keyId: string,
  changes: Parameters<typeof usageRecord>[1],
) {
  const record = usageRecord(keyId, changes);
  const { outcome, atMs } = record;
  await store.commit([{ ...settleItem(keyId, record.costNano, { outcome, atMs }), record }]);
}

describe("the tables of sums", () => {
  test("have a row for each key, model and hour, and every exchange in a band of latency", async () => {
    using folder = temporaryFolder();
    const store = await openGatewayStore(folder.dir, new FakeClock());
    const [one, two] = [keyRecord(), keyRecord()];
    await store.insertKey(one, 10_000);
    await store.insertKey(two, 10_000);
    await commitRecord(store, one.id, { model: "a", atMs: noonMs - dayMs });
    await commitRecord(store, one.id, { model: "b", outcome: "failed", firstByteMs: null });
    await commitRecord(store, two.id, { model: "b", provider: "anthropic", totalMs: 400_000 });
    await store.close();
    await (await openGatewayStore(folder.dir, new FakeClock())).close();
    const database = new Database(join(folder.dir, "sluice.db"));
    expect(database.query("SELECT count(*) AS rows FROM usage_key_hours").get()).toEqual({ rows: 3 });
    expect(
      database.query("SELECT sum(requests) AS total FROM latency_all_hours WHERE measure = 'total'").get(),
    ).toEqual({
      total: 3,
    });
    database.close();
  });

  test("are written along when many rows wait to be counted", async () => {
    using folder = temporaryFolder();
    const store = await openGatewayStore(folder.dir, new FakeClock());
    const key = keyRecord();
    await store.insertKey(key, 10_000);
    for (let charge = 0; charge < 1010; charge += 1)
      await commitRecord(store, key.id, { model: `model ${charge % 120}` });
    const database = new Database(join(folder.dir, "sluice.db"));
    expect(database.query("SELECT * FROM usage_key_hours LIMIT 1").get()).not.toBeNull();
    database.close();
    expect(await summarizeUsage(store, { by: "model", sinceMs: 0 })).toHaveLength(120);
    await store.close();
  });

  test("that cannot be written keep no charge from being written", async () => {
    using folder = temporaryFolder();
    const store = await openGatewayStore(folder.dir, new FakeClock());
    const key = keyRecord();
    await store.insertKey(key, 10_000);
    const database = new Database(join(folder.dir, "sluice.db"));
    database.run("CREATE TRIGGER stop BEFORE INSERT ON usage_minutes BEGIN SELECT RAISE(ABORT, 'no'); END");
    for (let model = 0; model < 1010; model += 1)
      await commitRecord(store, key.id, { model: `model ${model % 120}` });
    expect(await summarizeUsage(store, { by: "model", sinceMs: 0 })).toHaveLength(120);
    database.run("DROP TRIGGER stop");
    await store.close();
    expect(database.query("SELECT count(*) AS rows FROM usage_minutes").get()).toEqual({ rows: 120 });
    database.close();
  });

  test("are written by themselves after a second", async () => {
    using folder = temporaryFolder();
    const store = await openGatewayStore(folder.dir, new FakeClock());
    const key = keyRecord();
    await store.insertKey(key, 10_000);
    await store.commit([settleItem(key.id, 1)]);
    const database = new Database(join(folder.dir, "sluice.db"));
    const rows = () => database.query("SELECT * FROM usage_key_hours").all().length;
    expect(rows()).toBe(0);
    await waitFor(() => rows() === 1, "the sums to be written");
    database.close();
    await store.close();
  });
});
