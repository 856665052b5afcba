import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

test("the search for the next line of a batch reads none that has ended", () => {
  using database = new Database(":memory:");
  for (const name of ["001.sql", "002.sql", "003.sql"]) {
    database.exec(readFileSync(join(import.meta.dir, "../../../src/store/sqlite/migrations", name), "utf8"));
  }
  const plan = database.query<{ detail: string }, []>(
    `EXPLAIN QUERY PLAN SELECT no FROM batch_lines WHERE batch_no = 1 AND state = 0 AND (due_at_ms <= 1 OR due_at_ms > 2)
      AND (model IS NULL OR NOT (model IN (SELECT value FROM json_each('[]')))) ORDER BY no LIMIT 1`,
  );
  expect(plan.all()[0]?.detail).toContain("USING COVERING INDEX batch_lines_waiting");
});
