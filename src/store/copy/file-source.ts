import { closeSync, fstatSync, openSync } from "node:fs";
import { systemCode } from "../../base/system/system-code.ts";
import { StoreError } from "../store.ts";
import type { CopiedColumns, CopiedRow, CopiedTable, CopySource, StoreProgress } from "./copy.ts";
import { decodeRow } from "./ledger-file.ts";
import { type Contents, notALedger, readContents, type TablePlace } from "./read-contents.ts";
import { type Line, readLines } from "./read-lines.ts";

/** Throws, before `work`, if the file is not complete and unchanged. */
export async function withFileSource<Result>(
  file: string,
  work: (source: CopySource) => Promise<Result>,
): Promise<Result> {
  const descriptor = open(file);
  try {
    return await work(new FileSource(file, descriptor, readContents(descriptor, file)));
  } finally {
    closeSync(descriptor);
  }
}

function open(file: string): number {
  try {
    const descriptor = openSync(file, "r");
    if (fstatSync(descriptor).isFile()) return descriptor;
    closeSync(descriptor);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    throw new StoreError("not_a_database", `File ${file} does not exist.`);
  }
  throw notALedger(file);
}

class FileSource implements CopySource {
  readonly name: string;
  readonly #descriptor: number;
  readonly #contents: Contents;
  /** The rows that follow those already read of the current table. */
  #lines: Iterator<Line | null> | null = null;
  #left = 0;

  constructor(name: string, descriptor: number, contents: Contents) {
    this.name = name;
    this.#descriptor = descriptor;
    this.#contents = contents;
  }

  async columnsOf(table: string): Promise<CopiedColumns> {
    return this.#contents.tables.get(table)?.columns ?? {};
  }

  /** Rows are in the file in the order in which they are read. */
  async read({ name, rowsAtOnce }: CopiedTable, after: CopiedRow | null): Promise<readonly CopiedRow[]> {
    const place = this.#contents.tables.get(name);
    if (place === undefined) return [];
    if (after === null) this.#begin(place);
    const rows: CopiedRow[] = [];
    for (; rows.length < rowsAtOnce && this.#left > 0; this.#left -= 1) {
      const line: Line | null = this.#lines?.next().value ?? null;
      const row = line === null ? null : decodeRow(line.text.toString(), place.columns);
      if (row === null) throw this.#invalid(name, place.rows - this.#left + 1);
      rows.push(row);
    }
    return rows;
  }

  async countEntries(): Promise<number> {
    return this.#contents.tables.get("entries")?.rows ?? 0;
  }

  async progress(): Promise<StoreProgress> {
    return this.#contents.progress;
  }

  totals(): null {
    return null;
  }

  #begin({ from, rows }: TablePlace): void {
    this.#lines = readLines(this.#descriptor, from);
    this.#left = rows;
  }

  #invalid(table: string, row: number): StoreError {
    return new StoreError(
      "corrupt",
      `Row ${row} of ${table} in ${this.name} does not match the table's columns. Nothing was imported. Export it again.`,
    );
  }
}
