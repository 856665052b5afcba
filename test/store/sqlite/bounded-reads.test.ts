import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Query, Work } from "../../../src/store/query.ts";
import { compareByPages } from "../../../src/store/reporting/cost-comparison.ts";
import { storedReports } from "../../../src/store/reporting/stored-reports.ts";
import { notDurable, sqliteQueries, sqliteText } from "../../../src/store/sqlite/queries.ts";
import { commandReader } from "../../../src/store/sqlite/reports/report-reader.ts";
import { accountsChangedSince } from "../../../src/store/tables/account-table.ts";
import { storedAlerts } from "../../../src/store/tables/alert-records.ts";
import { entriesChangedSince } from "../../../src/store/tables/entry-table.ts";
import { keySearch } from "../../../src/store/tables/key-search.ts";
import { keysChangedSince } from "../../../src/store/tables/key-table.ts";
import { StoredTurns } from "../../../src/store/tables/turn-table.ts";
import { type Crowd, fillCrowd } from "../../bench/fill-crowd.ts";
import { newFolder } from "../../support/new-folder.ts";

const count = 600;
const folder = newFolder();
let database: Database;
let crowd: Crowd;

beforeAll(async () => {
  crowd = await fillCrowd(folder, count);
  database = new Database(join(folder, "sluice.db"), { strict: true });
}, 120_000);

afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

const year = { sinceMs: Date.now() - 365 * 86_400_000, untilMs: Date.now() + 86_400_000 };
test("pages of a report have every group once", async () => {
  const reader = commandReader(folder);
  const reports = storedReports(reader, async () => []);
  const seen = new Set<string>();
  for (let skip = 0; skip < count; skip += 250) {
    const page = await reports.usagePage(["user"], { ...year, order: "worth", skip, limit: 250 });
    expect(page.count).toBe(count);
    for (const { groups } of page.groups) seen.add(String(groups[0]));
  }
  expect(seen.size).toBe(count);
  await reader.close();
});

test("a report whose client has disconnected is not read", async () => {
  const asked = { ...year, order: "name", skip: 0, limit: 10, signal: AbortSignal.abort() } as const;
  const read: Query = async () => expect.unreachable();
  const reports = storedReports(
    { read, fold: async () => {}, compareCosts: (query, prices) => compareByPages(read, query, prices) },
    async () => [],
  );
  await expect(reports.usagePage(["user"], asked)).rejects.toThrow();
});

test("stored responses of a key are deleted a few hundred at a time", async () => {
  const queries = sqliteQueries(database, 1_000, notDurable);
  let mostDeleted = 0;
  const change: Query = async <Row>(text: string, parameters?: Parameters<Query>[1]) => {
    const rows = await queries.change<Row>(text, parameters);
    mostDeleted = Math.max(mostDeleted, rows.length);
    return rows;
  };
  const deleted = await new StoredTurns({ ...queries, change }).deleteAll(crowd.busy.key.id);
  expect({ deleted, isBounded: mostDeleted <= 200 }).toEqual({ deleted: count, isBounded: true });
});

test("keys are found, and changes are read, by their indexes", async () => {
  const scans: string[] = [];
  const explain: Query = async <Row>(text: string, parameters: Parameters<Query>[1] = []) => {
    const rows = database
      .query<{ detail: string }, (string | number)[]>(`EXPLAIN QUERY PLAN ${sqliteText(text)}`)
      .all(...(parameters as (string | number)[]));
    scans.push(
      ...rows.map(({ detail }) => detail).filter((detail) => /^SCAN (keys|accounts|entries)\b/.test(detail)),
    );
    return [] as Row[];
  };
  const queries = { ...sqliteQueries(database, 1_000, notDurable), read: explain };
  await storedAlerts(queries, { read: explain, fold: async () => {} }).expiringKeys(0, 1e12);
  const first = (work: Work<unknown>) => work.next([]).value as { text: string; parameters: number[] };
  await keySearch(explain, explain).findKey("slu_12345678");
  const changes = [keysChangedSince(5), accountsChangedSince(5), entriesChangedSince(5)];
  for (const { text, parameters } of changes.map(first)) {
    await explain(text, parameters);
  }
  expect(scans).toEqual([]);
});
