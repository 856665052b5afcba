import { Database } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import type { HoldEnd } from "../lanes/hold-end.ts";

const prefix = "sluice.node-";

/**
 * A small file on this machine: charges that the database has not acknowledged yet, so that they are made even if
 * this process is killed first. It also records the node's number. It stays locked while the process lives. A later
 * process of the same folder that finds it unlocked makes the charges and knows that the node is dead, unless the
 * file is a copy, as in a folder that was copied while its node lives elsewhere.
 */
export class UnacknowledgedCharges {
  readonly file: string;
  readonly nodeNo: number;
  /**
   * True for the file that the node itself had locked, false for a copy. A process that can lock the original knows
   * that the node is dead.
   */
  readonly isOriginal: boolean;
  readonly #database: Database;

  private constructor(file: string, nodeNo: number, database: Database, isOriginal: boolean) {
    this.file = file;
    this.nodeNo = nodeNo;
    this.#database = database;
    this.isOriginal = isOriginal;
  }

  static create(dir: string, nodeNo: number, databaseId: string): UnacknowledgedCharges {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const file = join(dir, `${prefix}${nodeNo}`);
    // Readable by the owner only, and so is SQLite's journal next to it: it contains stored responses, too.
    closeSync(openSync(file, "a", 0o600));
    const database = open(file, true);
    database.run("CREATE TABLE IF NOT EXISTS origin (database_id TEXT NOT NULL, identity TEXT)");
    database.run("CREATE TABLE IF NOT EXISTS charges (id TEXT PRIMARY KEY, charge TEXT NOT NULL)");
    database.run("DELETE FROM origin");
    database.run("INSERT INTO origin VALUES (?, ?)", [databaseId, identityOf(file)]);
    return new UnacknowledgedCharges(file, nodeNo, database, true);
  }

  /** The files that dead processes left in a folder for this database. */
  static leftIn(dir: string, databaseId: string): UnacknowledgedCharges[] {
    const left: UnacknowledgedCharges[] = [];
    for (const name of new Glob(`${prefix}*`).scanSync({ cwd: dir, onlyFiles: true })) {
      const nodeNo = Number(name.slice(prefix.length));
      if (!Number.isSafeInteger(nodeNo)) continue;
      const found = UnacknowledgedCharges.#take(join(dir, name), nodeNo, databaseId);
      if (found !== null) left.push(found);
    }
    return left;
  }

  /** Null if another process has it open, or if it belongs to another database. */
  static #take(file: string, nodeNo: number, databaseId: string): UnacknowledgedCharges | null {
    let database: Database | null = null;
    try {
      database = open(file, false);
      // Takes the lock; a read alone would release it.
      database.run("UPDATE origin SET database_id = database_id");
      const origin = database.query<Origin, []>("SELECT database_id AS id, identity FROM origin").get();
      const isOriginal = origin?.identity != null && origin.identity === identityOf(file);
      if (origin?.id === databaseId) return new UnacknowledgedCharges(file, nodeNo, database, isOriginal);
    } catch {
      // Locked, or incomplete because its process died early.
    }
    database?.close();
    return null;
  }

  /** Durable when it returns. */
  keep(ends: readonly HoldEnd[]): void {
    const insert = this.#database.query("INSERT OR REPLACE INTO charges VALUES (?, ?)");
    this.#database.transaction(() => {
      for (const end of ends) insert.run(end.id, JSON.stringify(end));
    })();
  }

  forget(ids: readonly string[]): void {
    const remove = this.#database.query("DELETE FROM charges WHERE id = ?");
    this.#database.transaction(() => {
      for (const id of ids) remove.run(id);
    })();
  }

  /** In the order of writing. */
  all(): readonly HoldEnd[] {
    const rows = this.#database.query<{ charge: string }, []>("SELECT charge FROM charges ORDER BY rowid");
    return rows.all().map(({ charge }) => JSON.parse(charge) as HoldEnd);
  }

  close(): void {
    this.#database.close();
  }

  /** Deletes the file once nothing in it is needed. */
  remove(): void {
    this.#database.close();
    rmSync(this.file, { force: true });
    rmSync(`${this.file}-journal`, { force: true });
  }
}

interface Origin {
  readonly id: string;
  readonly identity: string | null;
}

/** Distinguishes a file from its copies, on this machine since it was booted; null if that is impossible. */
function identityOf(file: string): string | null {
  try {
    const { dev, ino } = statSync(file);
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${dev} ${ino}`;
  } catch {
    return null;
  }
}

/** Counts the charges for this database that dead processes left in a folder. */
export function unmadeCharges(dir: string, databaseId: string): number {
  if (!existsSync(dir)) return 0;
  let count = 0;
  for (const left of UnacknowledgedCharges.leftIn(dir, databaseId)) {
    count += left.all().length;
    left.close();
  }
  return count;
}

function open(file: string, create: boolean): Database {
  const database = new Database(file, { create, readwrite: true, strict: true });
  database.run("PRAGMA locking_mode = EXCLUSIVE");
  database.run("PRAGMA journal_mode = TRUNCATE");
  database.run("PRAGMA synchronous = FULL");
  return database;
}
