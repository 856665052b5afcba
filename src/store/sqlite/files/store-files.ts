import type { Database } from "bun:sqlite";
import type { StoreFiles } from "../../files.ts";
import { patiently } from "../connection.ts";
import { copyDatabase } from "./backup.ts";
import { fullRefusal, isFull } from "./full-disk.ts";
import type { OpenFiles } from "./open-files.ts";

export interface FilesParts {
  readonly database: Database;
  readonly dir: string;
  /** How long an operator's transaction waits for another process before it fails. */
  readonly timeoutMs: number;
  /** Null for operators, who close the store again before it could tell them anything. */
  readonly watched: OpenFiles | null;
}

export class SqliteFiles implements StoreFiles {
  readonly #parts: FilesParts;
  #rescuedTo: string | null = null;

  constructor(parts: FilesParts) {
    this.#parts = parts;
  }

  get rescuedTo(): string | null {
    return this.#rescuedTo;
  }

  backup(file: string): Promise<void> {
    const { database, timeoutMs } = this.#parts;
    return patiently(timeoutMs, () => copyDatabase(database, file));
  }

  explain(error: unknown): unknown {
    const { dir } = this.#parts;
    return isFull(error, dir) ? fullRefusal(dir) : error;
  }

  /** Copies the database aside if its file is gone; to be called before the database is closed. */
  rescue(): void {
    const { database, watched } = this.#parts;
    this.#rescuedTo = watched?.rescue(database) ?? null;
  }
}
