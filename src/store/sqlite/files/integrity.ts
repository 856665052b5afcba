import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { codeOf, corruptError, isCorrupt } from "../connection.ts";

/** The tables that admission and recovery need; small however long the history is. */
const essentialTables = ["state", "keys", "accounts", "holds"];

/** Up to this size the whole file is checked at every start, which takes about 50 ms. */
export const wholeCheckLimitBytes = 16 * 1024 * 1024;

/**
 * Throws for a damaged database before anything is written to it. A large file is not read completely, so that the
 * start stays fast however long the history: a backup checks all of it, and the gateway once a week.
 */
export function checkIntegrity(database: Database, file: string): void {
  const targets = statSync(file).size <= wholeCheckLimitBytes ? [null] : essentialTables;
  for (const table of targets) {
    const problems = quickCheck(database, table, file);
    if (problems.length > 0) throw corruptError(file, problems.join("; "));
  }
}

/** Throws for a database that is damaged anywhere. Reads all of it. */
export function checkWhole(database: Database, file: string): void {
  const problems = quickCheck(database, null, file);
  if (problems.length > 0) throw corruptError(file, problems.join("; "));
}

/** At most three problems; none if the table is intact. A null table means the whole file. */
export function quickCheck(database: Database, table: string | null, file: string): readonly string[] {
  try {
    const rows = database.query<{ quick_check: string }, []>(`PRAGMA quick_check(${table ?? 3})`).all();
    return rows.map((row) => row.quick_check).filter((line) => line !== "ok");
  } catch (error) {
    if (isCorrupt(codeOf(error))) throw corruptError(file, String(error));
    throw error;
  }
}
