import type { Database, SQLQueryBindings } from "bun:sqlite";
import { existsSync, rmSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import type { ColumnType, CopiedRow, CopiedTable, CopiedValue } from "../copy/copied-tables.ts";
import type { CopySource, CopyTarget } from "../copy/copy.ts";
import type { Moved } from "../moved.ts";
import { type RecomputedTotals, StoreRefusal } from "../store.ts";
import { openConnection } from "./connection.ts";
import { createFolder, type DataFolder, dataFolder, lockFolder } from "./files/folder.ts";
import { refuseMissingLedger } from "./files/missing-ledger.ts";
import { migrate } from "./migrate.ts";
import { markMoved, refuseMoved } from "./moved.ts";
import { recomputeTotals } from "./tables/recompute.ts";
import { catchUpRollup } from "./writers/rollup.ts";

const busyTimeoutMs = 10_000;

/** Reads a folder that no gateway uses; commands that would change it wait. */
export function withSqliteSource<Result>(
  dir: string,
  clock: Clock,
  work: (source: CopySource) => Promise<Result>,
): Promise<Result> {
  const folder = dataFolder(dir);
  if (!existsSync(folder.databaseFile)) {
    throw new StoreRefusal("ledger_missing", `There is no data in ${dir}. Nothing was copied.`);
  }
  return whileLocked(folder, clock, (database) => {
    refuseMoved(database, dir);
    const holds = database.query<{ open: number }, []>("SELECT count(*) AS open FROM holds").get();
    if (holds?.open === 0) {
      // The other side counts no entries of its own into the sums of keys and of attempts.
      catchUpRollup(database);
      return work(new SqliteEnd(dir, database));
    }
    throw new StoreRefusal(
      "in_use",
      `The last gateway of ${dir} ended in the middle of requests. Nothing was copied. Start it once and stop it, so ` +
        "that they are charged.",
    );
  });
}

/** Makes the folder if there is none, and then removes the database again if the copy fails. */
export async function withSqliteTarget<Result>(
  dir: string,
  clock: Clock,
  work: (target: CopyTarget) => Promise<Result>,
): Promise<Result> {
  const folder = dataFolder(dir);
  refuseMissingLedger(folder);
  const wasThere = existsSync(folder.databaseFile);
  try {
    return await whileLocked(folder, clock, (database) => {
      if (isEmpty(database)) return work(new SqliteEnd(dir, database));
      throw new StoreRefusal(
        "not_empty",
        `${dir} has data already. Nothing was copied. Name an empty folder.`,
      );
    });
  } catch (error) {
    const files = wasThere ? [] : ["", "-wal", "-shm"].map((suffix) => folder.databaseFile + suffix);
    for (const file of files) rmSync(file, { force: true });
    throw error;
  }
}

function isEmpty(database: Database): boolean {
  const found = database.query<{ isEmpty: number }, []>(
    `SELECT NOT EXISTS (SELECT 1 FROM keys WHERE no > 0) AND NOT EXISTS (SELECT 1 FROM accounts) AND NOT EXISTS (SELECT 1 FROM audit_log)
      AND NOT EXISTS (SELECT 1 FROM admin_token) AS isEmpty`,
  );
  return found.get()?.isEmpty === 1;
}

/** The folder is locked, and one transaction lasts from the first row to the last. */
async function whileLocked<Result>(
  folder: DataFolder,
  clock: Clock,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const lock = await lockFolder(folder);
  try {
    createFolder(folder);
    const database = openConnection(folder.databaseFile, { busyTimeoutMs });
    try {
      migrate(database, { file: folder.databaseFile, nowMs: clock.wallMs() });
      database.run("BEGIN IMMEDIATE");
      const result = await work(database);
      database.run("COMMIT");
      return result;
    } finally {
      database.close();
    }
  } finally {
    lock.release();
  }
}

class SqliteEnd implements CopySource, CopyTarget {
  readonly name: string;
  readonly #database: Database;

  constructor(name: string, database: Database) {
    this.name = name;
    this.#database = database;
  }

  async countEntries(): Promise<number> {
    const count = this.#database.query<{ entries: number }, []>("SELECT count(*) AS entries FROM entries");
    return count.get()?.entries ?? 0;
  }

  async read(table: CopiedTable, after: CopiedRow | null): Promise<readonly CopiedRow[]> {
    const columns = Object.entries(table.columns);
    const selected = columns.map(([name]) => `${readAs[table.name]?.[name] ?? name} AS ${name}`);
    const key = table.key.map((name) => `${tableOf(table)}.${name}`).join(", ");
    const where = after === null ? "" : `WHERE (${key}) > (${table.key.map(() => "?").join(", ")})`;
    const statement = this.#database.query<Record<string, StoredValue>, SQLQueryBindings[]>(
      `SELECT ${selected.join(", ")} FROM ${rowsOf[table.name] ?? tableOf(table)} ${where} ORDER BY ${key} LIMIT ${table.rowsAtOnce}`,
    );
    const places = table.key.map((name) => columns.findIndex(([column]) => column === name));
    const cursor = after === null ? [] : places.map((place) => bound(after[place] ?? null));
    const rows = statement.safeIntegers(true).all(...cursor);
    return rows.map((row) => columns.map(([name, type]) => copied(row[name] ?? null, type)));
  }

  async write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const names = Object.keys(table.columns);
    const statement = this.#database.query<never, Record<string, SimpleBinding>>(insertion(table));
    for (const row of rows) {
      statement.run(Object.fromEntries(names.map((name, place) => [name, bound(row[place] ?? null)])));
    }
  }

  async markMoved(moved: Moved): Promise<void> {
    markMoved(this.#database, moved);
  }

  async recomputeTotals(): Promise<readonly RecomputedTotals[]> {
    return recomputeTotals(this.#database);
  }
}

type StoredValue = bigint | string | Uint8Array | null;

function copied(value: StoredValue, type: ColumnType): CopiedValue {
  return type === "flag" && value !== null ? value === 1n : value;
}

type SimpleBinding = bigint | string | number | Uint8Array | null;

function bound(value: CopiedValue): SimpleBinding {
  return typeof value === "boolean" ? Number(value) : value;
}

function tableOf({ name }: CopiedTable): string {
  return name === "progress" ? "state" : name;
}

/** The row that stands for no key is in every database of this kind. */
const rowsOf: Readonly<Record<string, string>> = { keys: "(SELECT * FROM keys WHERE no > 0) AS keys" };

function insertion(table: CopiedTable): string {
  if (table.name === "progress") return updateState;
  const values = {
    ...Object.fromEntries(Object.keys(table.columns).map((name) => [name, `$${name}`])),
    ...writtenAs[table.name],
  };
  return `INSERT INTO ${table.name} (${Object.keys(values).join(", ")}) VALUES (${Object.values(values).join(", ")})`;
}

const readAs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  entries: { account_no: "coalesce(account_no, key_no)" },
  progress: { entries_through: "rolled_up_through", endings_through: "endings_rolled_up_through" },
};

/** An entry names its account only if that is not the key's own, which has the key's number. */
const writtenAs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  accounts: { floor: `iif($mode = 'credit' AND NOT $is_open, 0, ${Number.MIN_SAFE_INTEGER})` },
  entries: { account_no: "nullif($account_no, $key_no)" },
};

const updateState = `
UPDATE state SET revision = $revision, rolled_up_through = $entries_through, endings_rolled_up_through = $endings_through,
  totals_through = coalesce((SELECT max(id) FROM entries), 0)
WHERE id = $id`;
