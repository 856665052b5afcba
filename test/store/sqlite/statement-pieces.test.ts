import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { readStatements } from "../../../src/store/reporting/statement.ts";
import { notDurable, sqliteQueries } from "../../../src/store/sqlite/queries.ts";
import { newFolder } from "../../support/new-folder.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

test("a statement that is read in pieces is the same as one that is read at once", async () => {
  const dir = newFolder();
  const store = await openGatewayStore(dir, systemClock);
  const keys = [keyRecord(), keyRecord()];
  const sinceMs = Date.UTC(2026, 9);
  for (const [place, key] of keys.entries()) {
    await store.insertKey(key, 5_000_000_000);
    // Several at the same moment, some before the month.
    for (let no = 0; no < 25; no += 1) {
      await store.commit([
        settleItem(key.id, 1000 + no, { atMs: sinceMs + Math.floor((no - 7) / 3 + place) }),
      ]);
    }
  }
  await store.close();
  const database = new Database(join(dir, "sluice.db"), { readonly: true });
  const queries = sqliteQueries(database, 1000, notDurable);
  const asked = { sinceMs, untilMs: Date.UTC(2026, 10) };
  const whole = await readStatements(queries, asked);
  const few = { ...queries, pace: { ...queries.pace, rowsPerSum: 2 } };
  expect(await readStatements(few, asked)).toEqual(whole);
  expect(whole).toHaveLength(2);
  expect(whole.every(({ opening, lines }) => opening !== 0n && lines.length > 0)).toBe(true);
  database.close();
});
