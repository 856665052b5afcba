import type { Database } from "bun:sqlite";
import type { StoreFiles } from "../../files.ts";
import { patiently } from "../connection.ts";
import type { ReportReader } from "../reports/report-reader.ts";
import { copyDatabase } from "./backup.ts";
import { dataFolder } from "./folder.ts";
import { diskFullError, isFull } from "./full-disk.ts";
import { checkWhole } from "./integrity.ts";
import { isCheckDue, noteCheck, readDamage } from "./ledger-damage.ts";
import type { OpenFiles } from "./open-files.ts";

export interface FilesParts {
  readonly database: Database;
  readonly dir: string;
  /** How long an operator's transaction waits for another process before it fails. */
  readonly timeoutMs: number;
  /** Null for operators, who close the store too soon to need it. */
  readonly watched: OpenFiles | null;
  /** Runs what reads the whole database. */
  readonly reports: Pick<ReportReader, "findDamage">;
}

export interface SqliteFiles extends StoreFiles {
  /** Copies the database if its file is gone. Call it before the database is closed. */
  rescue(): void;
}

export function sqliteFiles({ database, dir, timeoutMs, watched, reports }: FilesParts): SqliteFiles {
  let rescuedTo: string | null = null;
  const folder = dataFolder(dir);
  let damage = readDamage(folder);
  return {
    get damage() {
      return damage;
    },
    async checkIfDue(nowMs) {
      if (!isCheckDue(folder, nowMs)) return;
      noteCheck(folder, await reports.findDamage(), nowMs);
      damage = readDamage(folder);
    },
    get rescuedTo() {
      return rescuedTo;
    },
    backup: (file) =>
      patiently(timeoutMs, () => {
        checkWhole(database, folder.databaseFile);
        copyDatabase(database, file);
      }),
    explain: (error) => (isFull(error, dir) ? diskFullError(dir) : error),
    rescue() {
      rescuedTo = watched?.rescue(database) ?? null;
    },
  };
}
