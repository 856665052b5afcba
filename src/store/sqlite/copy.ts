import type { Database } from "bun:sqlite";
import { existsSync, rmSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import type {
  CopiedColumns,
  CopiedRow,
  CopiedTable,
  CopiedValue,
  CopyTarget,
  StoreProgress,
  StoreSource,
} from "../copy/copy.ts";
import { hasHolds, isEmpty, QueriedCopyEnd } from "../copy/queried-end.ts";
import { rejectMoved } from "../moved.ts";
import type { Work } from "../query.ts";
import { attemptKeyColumns, attemptTotalColumns } from "../reporting/attempt-columns.ts";
import { StoreError } from "../store.ts";
import { pauseBatches } from "../tables/batch-table.ts";
import { openConnection } from "./connection.ts";
import { createFolder, type DataFolder, dataFolder } from "./files/folder.ts";
import { lockFolder } from "./files/folder-lock.ts";
import { rejectMissingLedger } from "./files/missing-ledger.ts";
import { migrate } from "./migrate.ts";
import { perform } from "./queries.ts";
import { findRepeatedCharges } from "./tables/audit.ts";

const busyTimeoutMs = 10_000;

/** Reads a folder that no gateway uses; changing commands wait. */
export function withSqliteSource<Result>(
  dir: string,
  clock: Clock,
  work: (source: StoreSource) => Promise<Result>,
): Promise<Result> {
  const folder = dataFolder(dir);
  if (!existsSync(folder.databaseFile)) {
    throw new StoreError("ledger_missing", `The data folder ${dir} has no data. Nothing was copied.`);
  }
  return whileLocked(folder, clock, (database) => {
    perform(database, rejectMoved(dir));
    rejectRepeatedCharges(database, dir);
    if (!perform(database, hasHolds())) {
      database.run(collectAttempts);
      return work(new SqliteCopyEnd(dir, database));
    }
    throw new StoreError(
      "in_use",
      `The last gateway on ${dir} stopped with requests in progress. Nothing was copied. Start and stop it once, so ` +
        "that they are charged.",
    );
  });
}

/** Rejects repeated charges: PostgreSQL would, too, and no copy of them could balance. */
function rejectRepeatedCharges(database: Database, dir: string): void {
  const [first, ...others] = perform(database, findRepeatedCharges());
  if (first === undefined) return;
  throw new StoreError(
    "corrupt",
    `In ${dir}, ${first.where} was charged ${first.kept} times${others.length === 0 ? "" : ", and it is not the only one"}. ` +
      "Nothing was copied. `sluice ledger audit` lists them, and `sluice restore FILE` restores an earlier backup.",
  );
}

/** Creates the folder if needed, and removes the database again if the copy fails. */
export async function withSqliteTarget<Result>(
  dir: string,
  clock: Clock,
  work: (target: CopyTarget) => Promise<Result>,
): Promise<Result> {
  const folder = dataFolder(dir);
  rejectMissingLedger(folder);
  const wasThere = existsSync(folder.databaseFile);
  try {
    return await whileLocked(folder, clock, (database) => {
      if (perform(database, isEmpty())) return work(new SqliteCopyEnd(dir, database));
      throw new StoreError("not_empty", `${dir} already has data. Nothing was copied. Use an empty folder.`);
    });
  } catch (error) {
    const files = wasThere ? [] : ["", "-wal", "-shm"].map((suffix) => folder.databaseFile + suffix);
    for (const file of files) rmSync(file, { force: true });
    throw error;
  }
}

/** Locks the folder; one transaction covers all rows. */
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

class SqliteCopyEnd extends QueriedCopyEnd implements StoreSource, CopyTarget {
  readonly name: string;
  readonly #database: Database;

  constructor(name: string, database: Database) {
    super();
    this.name = name;
    this.#database = database;
  }

  async columnsOf(table: string): Promise<CopiedColumns> {
    const find = this.#database.query<{ name: string; type: keyof typeof copiedTypes }, [string]>(
      "SELECT name, type FROM pragma_table_info(?)",
    );
    const shared = find.all(table).filter(({ name }) => ownColumns[table]?.includes(name) !== true);
    return Object.fromEntries(shared.map(({ name, type }) => [name, copiedTypes[type]]));
  }

  async read({ name: table, columns, key, rowsAtOnce }: CopiedTable, after: CopiedRow | null) {
    const selected = Object.entries(columns).map(([name, type]) => {
      const value = readAs[table]?.[name] ?? name;
      return `${type === "number" ? `CAST(${value} AS TEXT)` : value} AS ${name}`;
    });
    const order = key.map((name) => `${table}.${name}`).join(", ");
    const last = key.map((name) => (columns[name] === "number" ? "CAST(? AS INTEGER)" : "?"));
    const where = after === null ? "" : `WHERE (${order}) > (${last.join(", ")})`;
    const statement = this.#database.query<CopiedRow, CopiedValue[]>(
      `SELECT ${selected.join(", ")} FROM ${rowsOf[table] ?? table} ${where} ORDER BY ${order} LIMIT ${rowsAtOnce}`,
    );
    return statement.all(...(after === null ? [] : key.map((name) => after[name] ?? null)));
  }

  async write({ name, columns }: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    const bound = Object.fromEntries(Object.keys(columns).map((column) => [column, `$${column}`]));
    const values = { ...bound, ...writtenAs[name] };
    const statement = this.#database.query<never, CopiedRow>(
      `INSERT INTO ${name} (${Object.keys(values).join(", ")}) VALUES (${Object.values(values).join(", ")})`,
    );
    for (const row of rows) statement.run(row);
  }

  async finish({ revision }: StoreProgress): Promise<void> {
    this.#database.query("UPDATE state SET revision = ?").run(revision);
    this.#database.run(pauseBatches);
    this.#database.run(
      "INSERT INTO turn_sums (key_no, bytes) SELECT key_no, sum(bytes) FROM turns GROUP BY key_no",
    );
  }

  async perform<Result>(work: Work<Result>): Promise<Result> {
    return perform(this.#database, work);
  }
}

const copiedTypes = { INTEGER: "number", TEXT: "text", BLOB: "bytes" } as const;

const ownColumns: Readonly<Record<string, readonly string[]>> = {
  accounts: ["floor"],
  entries: ["credential", "owed_nano_usd"],
  responses: ["id"],
};

const attemptTotals = attemptTotalColumns.map((column) => `sum(${column}) AS ${column}`).join(", ");
const attemptKeys = attemptKeyColumns.join(", ");

/** The other side does not know which attempts the rows of charges describe. */
const collectAttempts = `
CREATE TEMP TABLE copied_attempts AS SELECT ${attemptKeys}, ${attemptTotals} FROM attempt_totals GROUP BY ${attemptKeys}`;

/** Rows whose copy differs. The row for "no key", which every SQLite database has, is omitted. */
const rowsOf: Readonly<Record<string, string>> = {
  keys: "(SELECT * FROM keys WHERE no > 0) AS keys",
  attempt_sums: "copied_attempts AS attempt_sums",
  attempt_days: `(SELECT day, node_no, ${attemptTotals} FROM copied_attempts GROUP BY 1, 2) AS attempt_days`,
};

type ColumnValues = Readonly<Record<string, Readonly<Record<string, string>>>>;

const readAs: ColumnValues = { entries: { account_no: "coalesce(account_no, key_no)" } };

/** An entry has an account number only if it is not the key's own account, which shares the key's number. */
const writtenAs: ColumnValues = {
  accounts: { floor: `iif($mode = 'credit' AND $is_open = '0', 0, ${Number.MIN_SAFE_INTEGER})` },
  entries: { account_no: "nullif($account_no, $key_no)" },
};
