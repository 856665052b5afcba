import { expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { copiedTables } from "../../../src/store/copy/copy.ts";
import { withPostgresTarget } from "../../../src/store/postgres/copy.ts";
import { withSqliteTarget } from "../../../src/store/sqlite/copy.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { temporaryFolder } from "../fixtures.ts";
import { emptyDatabase } from "./fixtures.ts";

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});

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
