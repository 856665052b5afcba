import { StoreError } from "../store.ts";
import type { CopiedColumns, StoreProgress } from "./copy.ts";
import {
  formatVersion,
  isEnd,
  isHeader,
  isProgress,
  isTable,
  parseJson,
  rejectUnknownTable,
} from "./ledger-file.ts";
import { type Line, readLines } from "./read-lines.ts";

/** The position of a table's rows in the file. */
export interface TablePlace {
  readonly columns: CopiedColumns;
  readonly from: number;
  rows: number;
}

export interface Contents {
  readonly tables: ReadonlyMap<string, TablePlace>;
  readonly progress: StoreProgress;
}

/** Reads the whole file. Throws if it is not complete and unchanged, before anything of it was used. */
export function readContents(descriptor: number, file: string): Contents {
  const reader = new ContentsReader(file);
  let last: Line | null = null;
  for (const line of readLines(descriptor)) {
    if (last === null) checkHeader(line, file);
    else reader.take(last);
    if (line?.isComplete !== true) throw damaged(file);
    last = line;
  }
  if (last === null) throw notALedger(file);
  return reader.finish(last);
}

/** The last line has the checksum of all others, so a line is processed once the next one has begun. */
class ContentsReader {
  readonly #file: string;
  readonly #hash = new Bun.CryptoHasher("sha256");
  readonly #tables = new Map<string, TablePlace>();
  #current: TablePlace | null = null;
  #progress: StoreProgress | null = null;
  #lines = 0;

  constructor(file: string) {
    this.#file = file;
  }

  take({ text, end }: Line): void {
    this.#hash.update(text);
    this.#hash.update("\n");
    this.#lines += 1;
    if (this.#lines === 1) return;
    if (text[0] === firstOfRow && this.#current !== null) this.#current.rows += 1;
    else this.#takeObject(parseJson(text.toString()), end);
  }

  finish({ text }: Line): Contents {
    const end = parseJson(text.toString());
    if (!isEnd(end) || end.end.lines !== this.#lines || end.end.sha256 !== this.#hash.digest("hex"))
      throw damaged(this.#file);
    if (this.#progress === null) throw damaged(this.#file);
    for (const table of this.#tables.keys()) rejectUnknownTable(table, this.#file);
    return { tables: this.#tables, progress: this.#progress };
  }

  #takeObject(line: unknown, end: number): void {
    if (isTable(line) && !this.#tables.has(line.table)) {
      this.#current = { columns: line.columns, from: end, rows: 0 };
      this.#tables.set(line.table, this.#current);
    } else if (isProgress(line)) this.#progress = line.progress;
    else throw damaged(this.#file);
  }
}

const firstOfRow = "[".charCodeAt(0);
const maxHeaderBytes = 1_000;

function checkHeader(line: Line | null, file: string): void {
  const header = line !== null && line.text.length <= maxHeaderBytes ? parseJson(line.text.toString()) : null;
  if (!isHeader(header)) throw notALedger(file);
  if (header.version <= formatVersion) return;
  throw new StoreError(
    "newer_schema",
    `${file} was written by a newer Sluice (format ${header.version}; this one supports up to ${formatVersion}). Nothing was ` +
      "imported. Use that newer version.",
  );
}

export function notALedger(file: string): StoreError {
  return new StoreError(
    "not_a_database",
    `${file} was not written by \`sluice store export\`. Nothing was imported.`,
  );
}

function damaged(file: string): StoreError {
  return new StoreError(
    "corrupt",
    `${file} is truncated or was modified: the count and checksum in its last line do not match. Nothing was ` +
      "imported. Export it again.",
  );
}
