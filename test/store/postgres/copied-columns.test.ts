import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { copiedTables } from "../../../src/store/copy/copy.ts";
import { withPostgresTarget } from "../../../src/store/postgres/copy.ts";
import { withSqliteTarget } from "../../../src/store/sqlite/copy.ts";
import { migrations } from "../../../src/store/sqlite/migrate.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { temporaryFolder } from "../fixtures.ts";
import { clientOf, emptyDatabase, migratedDatabase } from "./fixtures.ts";

/** Tables that a copy leaves out, and why. */
const left: Readonly<Record<string, readonly string[]>> = {
  "of the database itself": ["schema_steps", "sqlite_sequence", "state", "prunings"],
  "of requests and gateways that have ended": [
    ...["holds", "nodes", "lanes", "buckets", "alert_sender"],
    ...["background_responses", "background_events"],
  ],
  "follows from other tables": [
    ...["response_sums", "turn_sums", "entry_references", "rollups", "usage_hours", "latency_hours"],
  ],
  "of sign-ins, which begin again": [
    "sessions",
    "spent_logout_tokens",
    "device_grants",
    "playground_secrets",
  ],
  "recorded content": ["content", "content_mark"],
};
const known = [...Object.keys(copiedTables), ...Object.values(left).flat()];

test("each table of a folder is copied, or left out on purpose", () => {
  const database = new Database(":memory:");
  for (const migration of migrations) database.run(migration);
  const tables = database.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'");
  expect(
    tables
      .all()
      .map(({ name }) => name)
      .filter((name) => !known.includes(name)),
  ).toEqual([]);
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});

test.skipIf(!hasPostgres)("each table of a database is copied, or left out on purpose", async () => {
  await using database = await migratedDatabase();
  const client = clientOf(database.url);
  const tables = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace
      AND relkind IN ('r', 'p') AND NOT relispartition`,
  );
  await client.close();
  expect(tables.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
});

test.skipIf(!hasPostgres)("a folder and a database have the same columns", async () => {
  await using database = await emptyDatabase();
  using folder = temporaryFolder();
  await withPostgresTarget({ url: database.url, password: null, prepare: true }, (one) =>
    withSqliteTarget(folder.dir, systemClock, async (other) => {
      for (const table of Object.keys(copiedTables))
        expect(Object.entries((await one.columnsOf(table)) ?? {}).toSorted()).toEqual(
          Object.entries((await other.columnsOf(table)) ?? {}).toSorted(),
        );
    }),
  );
});
