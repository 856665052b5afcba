import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Queries, Query, Work } from "../../../src/store/query.ts";
import { storedReports } from "../../../src/store/reporting/stored-reports.ts";
import { notDurable, sqliteQueries, sqliteText } from "../../../src/store/sqlite/queries.ts";
import { ReadTurns } from "../../../src/store/sqlite/read-turns.ts";
import { accountsChangedSince } from "../../../src/store/tables/account-table.ts";
import { storedAlerts } from "../../../src/store/tables/alert-records.ts";
import { keySearch } from "../../../src/store/tables/key-search.ts";
import { keysChangedSince } from "../../../src/store/tables/key-table.ts";
import { StoredTurns } from "../../../src/store/tables/turn-table.ts";
import { type Crowd, fillCrowd } from "../../bench/fill-crowd.ts";
import { newFolder } from "../../support/new-folder.ts";

const rowsPerSum = 50;
const count = 600;
const folder = newFolder();
let database: Database;
let crowd: Crowd;
let most = 0;

beforeAll(async () => {
  crowd = await fillCrowd(folder, count);
  database = new Database(join(folder, "sluice.db"), { strict: true });
}, 120_000);

afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Reads so few rows at once, and notes the most that one statement has returned. */
function counted(): Queries {
  const queries = sqliteQueries(database, 1_000, notDurable);
  const read: Query = async <Row>(text: string, parameters?: Parameters<Query>[1]) => {
    const rows = await queries.read<Row>(text, parameters);
    most = Math.max(most, rows.length);
    return rows;
  };
  return { ...queries, read, pace: { ...queries.pace, rowsPerSum } };
}

const year = { sinceMs: Date.now() - 365 * 86_400_000, untilMs: Date.now() + 86_400_000 };
const wide = [["user", "session", "day"], ["model"], ["key", "model", "day"], ["user"], ["day"], ["account"]];

test.each(wide)("usage by %s and others is read in small pieces, and is whole", async (...names) => {
  const dimensions = wide.find(([first]) => first === names[0]) ?? [];
  const reports = storedReports(counted(), async () => []);
  for (const keyId of [undefined, crowd.busy.key.id]) {
    most = 0;
    const query = { ...year, keyId, order: "worth", skip: 0, limit: 10 } as const;
    const { groups, total } = await reports.usagePage(dimensions, query);
    expect(total.requests).toBe(count);
    expect(groups.length).toBeLessThanOrEqual(10);
    expect(most).toBeLessThanOrEqual(rowsPerSum + 10);
  }
});

test("pages of a report have every group once", async () => {
  const reports = storedReports(counted(), async () => []);
  const seen = new Set<string>();
  for (let skip = 0; skip < count; skip += 250) {
    const page = await reports.usagePage(["user"], { ...year, order: "worth", skip, limit: 250 });
    expect(page.count).toBe(count);
    for (const { groups } of page.groups) seen.add(String(groups[0]));
  }
  expect(seen.size).toBe(count);
});

test("a report whose client disconnects is not read to its end", async () => {
  const client = new AbortController();
  const queries = counted();
  let statements = 0;
  const read: Query = (text, parameters) => {
    statements += 1;
    if (statements === 4) client.abort();
    return queries.read(text, parameters);
  };
  const reports = storedReports({ ...queries, read }, async () => []);
  const asked = { ...year, order: "name", skip: 0, limit: 10, signal: client.signal } as const;
  await expect(reports.usagePage(["user"], asked)).rejects.toThrow();
  expect(statements).toBeLessThanOrEqual(5);
});

test("stored responses of a key are deleted a few hundred at a time", async () => {
  const queries = counted();
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
      ...rows.map(({ detail }) => detail).filter((detail) => /^SCAN (keys|accounts)\b/.test(detail)),
    );
    return [] as Row[];
  };
  await storedAlerts({ ...sqliteQueries(database, 1_000, notDurable), read: explain }).expiringKeys(0, 1e12);
  const first = (work: Work<unknown>) => work.next([]).value as { text: string; parameters: number[] };
  await keySearch(explain).findKey("slu_12345678");
  for (const { text, parameters } of [first(keysChangedSince(5)), first(accountsChangedSince(5))]) {
    await explain(text, parameters);
  }
  expect(scans).toEqual([]);
});

test("statements wait for the next turn once those of this one have taken ten milliseconds", async () => {
  const turns = new ReadTurns();
  turns.add(6);
  expect(turns.wait()).toBeNull();
  turns.add(6);
  let isNextTurn = false;
  setImmediate(() => {
    isNextTurn = true;
  });
  const waiting = turns.wait();
  expect(waiting).not.toBeNull();
  await waiting;
  expect(isNextTurn).toBe(true);
  expect(turns.wait()).toBeNull();
});
