import type { Database } from "bun:sqlite";
import type { StoreFiles } from "../../files.ts";
import { patiently } from "../connection.ts";
import { copyDatabase } from "./backup.ts";
import { diskFullError, isFull } from "./full-disk.ts";
import type { OpenFiles } from "./open-files.ts";

export interface FilesParts {
  readonly database: Database;
  readonly dir: string;
  /** How long an operator's transaction waits for another process before it fails. */
  readonly timeoutMs: number;
  /** Null for operators, who close the store too soon to need it. */
  readonly watched: OpenFiles | null;
}

export interface SqliteFiles extends StoreFiles {
  /** Copies the database if its file is gone. Call it before the database is closed. */
  rescue(): void;
}

export function sqliteFiles({ database, dir, timeoutMs, watched }: FilesParts): SqliteFiles {
  let rescuedTo: string | null = null;
  return {
    get rescuedTo() {
      return rescuedTo;
    },
    backup: (file) => patiently(timeoutMs, () => copyDatabase(database, file)),
    explain: (error) => (isFull(error, dir) ? diskFullError(dir) : error),
    rescue() {
      rescuedTo = watched?.rescue(database) ?? null;
    },
  };
}
