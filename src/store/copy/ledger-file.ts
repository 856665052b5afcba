import { isObject } from "../../base/json.ts";
import { StoreError } from "../store.ts";
import {
  type CopiedColumns,
  type CopiedRow,
  type CopiedValue,
  copiedTables,
  type StoreProgress,
} from "./copy.ts";

/**
 * The lines of an exported ledger (`docs/upgrading.md`): a header, for each table its columns and then its rows, the
 * progress, and the end with a checksum of all lines before it.
 */
export const formatVersion = 1;

export interface HeaderLine {
  readonly sluice: "ledger";
  readonly version: number;
}

export interface TableLine {
  readonly table: string;
  readonly columns: CopiedColumns;
}

export interface ProgressLine {
  readonly progress: StoreProgress;
}

export interface EndLine {
  readonly end: {
    /** Lines before this one. */
    readonly lines: number;
    /** The SHA-256 of all bytes before this line, in hex. */
    readonly sha256: string;
  };
}

export type ObjectLine = HeaderLine | TableLine | ProgressLine | EndLine;

/** Bytes are base64. Numbers stay strings of digits. */
export function encodeRow(row: CopiedRow, columns: CopiedColumns): string {
  const values = Object.keys(columns).map((name) => {
    const value = row[name] ?? null;
    return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
  });
  return JSON.stringify(values);
}

/** Null if the line is not a row of these columns. */
export function decodeRow(line: string, columns: CopiedColumns): CopiedRow | null {
  const values = parseJson(line);
  const types = Object.entries(columns);
  if (!Array.isArray(values) || values.length !== types.length) return null;
  const row: Record<string, CopiedValue> = {};
  for (const [place, [name, type]] of types.entries()) {
    const value = decodeValue(values[place], type);
    if (value === undefined) return null;
    row[name] = value;
  }
  return row;
}

function decodeValue(value: unknown, type: CopiedColumns[string]): CopiedValue | undefined {
  if (value === null) return null;
  if (typeof value !== "string") return undefined;
  if (type === "text") return value;
  if (type === "number") return /^-?\d{1,19}$/.test(value) ? value : undefined;
  try {
    return Uint8Array.fromBase64(value, { lastChunkHandling: "strict" });
  } catch {
    return undefined;
  }
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isHeader(line: unknown): line is HeaderLine {
  return isObject(line) && line["sluice"] === "ledger" && Number.isSafeInteger(line["version"]);
}

export function isTable(line: unknown): line is TableLine {
  if (!isObject(line) || typeof line["table"] !== "string" || !isObject(line["columns"])) return false;
  return Object.values(line["columns"]).every((type) => ["number", "text", "bytes"].includes(String(type)));
}

export function isProgress(line: unknown): line is ProgressLine {
  return isObject(line) && isObject(line["progress"]) && Number.isSafeInteger(line["progress"]["revision"]);
}

export function isEnd(line: unknown): line is EndLine {
  return isObject(line) && isObject(line["end"]);
}

/** Totals for reports, which earlier builds wrote. They follow from the other tables. */
const formerTables = /^(?:usage|latency)_(?:minutes|key_hours|all_hours|key_days)$/;

export function rejectUnknownTable(table: string, file: string): void {
  if (Object.hasOwn(copiedTables, table) || formerTables.test(table)) return;
  throw new StoreError(
    "other_schema",
    `${file} has a table ${table}, which this version does not support. Nothing was imported. Use the version that wrote the ` +
      "file, or a newer one.",
  );
}
