import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { JournaledStore } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { summarizeUsage } from "../../support/usage.ts";
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
    expect(await summarizeUsage(store, { by: "model", sinceMs: 0 })).toHaveLength(2);
    await store.close();
    using database = new Database(join(folder.dir, "reports.db"));
    const rowsOf = (sql: string) => database.query(sql).get();
    expect(rowsOf("SELECT count(*) AS rows FROM usage_hours WHERE key_no > 0")).toEqual({ rows: 3 });
    expect(rowsOf("SELECT sum(requests) AS total FROM latency_hours WHERE measure = 'total'")).toEqual({
      total: 3,
    });
  });
});
