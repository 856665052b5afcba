import { constants, Database, type SQLQueryBindings } from "bun:sqlite";
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type ChargeRow, CostComparison, chargeRows } from "../../reporting/cost-comparison.ts";
import type { ComparedCosts, ComparedPrices, ComparisonQuery } from "../../reports.ts";
import { codeOf, isCorrupt, isOutOfSpace, readPragma } from "../connection.ts";
import { createFile, dataFolder, removeReports } from "../files/folder.ts";
import { bindable, sqliteText } from "../queries.ts";
import { Fold } from "./fold.ts";
import schema from "./schema.sql" with { type: "text" };

/** A file with a different format is computed again. Raise it when the schema or the meaning of a total changes. */
const format = 1;
/** Another process may be folding. Blocking is fine here: no gateway's event loop runs this. */
const busyTimeoutMs = 10_000;

/**
 * The database that reports read: the ledger, which this connection cannot write to, and reports.db with the totals that
 * are derived from it. Damage or deletion of that file loses nothing: it is computed again.
 */
export class ReportsFile {
  readonly #dir: string;
  #database: Database;
  #fold: Fold;
  #inode: number;

  constructor(dir: string) {
    this.#dir = dir;
    const { database, inode } = openFile(dir);
    this.#database = database;
    this.#inode = inode;
    this.#fold = new Fold(database);
  }

  /** Rows of a statement in SQLite's SQL. */
  rows(text: string, parameters: readonly SQLQueryBindings[]): unknown[] {
    return this.#repairing(() => this.#database.query(text).all(...parameters));
  }

  /** Adds up what a range's charges would have cost by other prices. */
  compareCosts(query: ComparisonQuery, prices: ComparedPrices): ComparedCosts {
    const { text, parameters } = chargeRows(query, null);
    return this.#repairing(() => {
      const comparison = new CostComparison(prices);
      const rows = this.#database.query<ChargeRow, SQLQueryBindings[]>(sqliteText(text));
      for (const row of rows.iterate(...parameters.map(bindable))) comparison.add(row);
      return comparison.result;
    });
  }

  /** Later statements see the same state, until `end`. */
  begin(): void {
    this.#database.run("BEGIN");
  }

  end(): void {
    if (this.#database.inTransaction) this.#database.run("ROLLBACK");
  }

  /** Adds new entries and endings to the totals. */
  fold(): void {
    if (inodeOf(this.#dir) !== this.#inode) this.#reopen();
    this.#repairing(() => {
      try {
        while (this.#fold.step());
      } catch (error) {
        // Reports add what is missing themselves.
        if (!isOutOfSpace(codeOf(error)) || this.#fold.isStale()) throw error;
      }
    });
  }

  /** Problems of the ledger's database; none if all of it is intact. */
  findDamage(): readonly string[] {
    try {
      const rows = this.#database.query<{ quick_check: string }, []>("PRAGMA ledger.quick_check(3)").all();
      return rows.map((row) => row.quick_check).filter((line) => line !== "ok");
    } catch (error) {
      if (isCorrupt(codeOf(error))) return [String(error)];
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }

  #repairing<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (!isCorrupt(codeOf(error)) || this.#database.inTransaction) throw error;
    }
    this.#database.close();
    removeReports(dataFolder(this.#dir));
    this.#reopen();
    // Once: if it is the ledger that is damaged, nothing here can help.
    while (this.#fold.step());
    return work();
  }

  #reopen(): void {
    this.#database.close();
    const { database, inode } = openFile(this.#dir);
    this.#database = database;
    this.#inode = inode;
    this.#fold = new Fold(database);
  }
}

function openFile(dir: string): { database: Database; inode: number } {
  try {
    return openOnce(dir);
  } catch (error) {
    if (!isCorrupt(codeOf(error)) && !(error instanceof OtherFormat)) throw error;
    removeReports(dataFolder(dir));
    return openOnce(dir);
  }
}

class OtherFormat extends Error {}

function openOnce(dir: string): { database: Database; inode: number } {
  const { reportsFile, databaseFile } = dataFolder(dir);
  createFile(reportsFile);
  const flags = constants.SQLITE_OPEN_READWRITE | constants.SQLITE_OPEN_URI;
  const database = new Database(reportsFile, flags);
  try {
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    database.run("PRAGMA journal_mode = wal");
    // A power cut can take back totals, but leaves them consistent with what they say to include.
    database.run("PRAGMA synchronous = normal");
    database.run("PRAGMA trusted_schema = 0");
    createTables(database);
    database.query("ATTACH ? AS ledger").run(`${pathToFileURL(databaseFile).href}?mode=ro`);
    return { database, inode: inodeOf(dir) };
  } catch (error) {
    database.close();
    throw error;
  }
}

function createTables(database: Database): void {
  const create = database.transaction(() => {
    const found = Number(readPragma(database, "user_version"));
    if (found === format) return;
    if (found !== 0) throw new OtherFormat(`reports.db has format ${found}`);
    database.run(schema);
    database.run(`PRAGMA user_version = ${format}`);
  });
  create.immediate();
}

/** 0 if the file was deleted. */
function inodeOf(dir: string): number {
  return statSync(dataFolder(dir).reportsFile, { throwIfNoEntry: false })?.ino ?? 0;
}
