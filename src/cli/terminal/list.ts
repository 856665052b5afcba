import { csvLine } from "../../base/csv.ts";
import type { CsvOption, JsonOption } from "../help.ts";
import { type Column, table } from "./table.ts";
import { printJson, type Terminal } from "./terminal.ts";

/** A column of a list or a report, once for CSV and for the table. */
export interface ListColumn<Row> extends Omit<Column, "title"> {
  /** Its name in CSV, which is that of JSON. */
  readonly name: string;
  /** What CSV has; by default the field of that name. */
  readonly value?: (row: Row) => unknown;
  /** Its title in the table, which leaves out columns that have none. */
  readonly title?: string;
  /** What the table shows; by default what CSV has. */
  readonly cell?: (row: Row) => string;
}

type ListOptions = JsonOption & CsvOption;

interface List<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly ListColumn<Row>[];
  /** What is printed as JSON; by default the rows. */
  readonly document?: unknown;
  /** What is printed in place of an empty table. */
  readonly nothing: string;
}

/** Prints a list as it was asked for: a table, CSV or JSON. Returns whether it is for people, who may be told more. */
export function printList<Row extends object>(
  list: List<Row>,
  options: ListOptions,
  terminal: Terminal,
): boolean {
  const { rows, columns, document = rows, nothing } = list;
  if (options.json) printJson(document, terminal);
  else if (options.csv) terminal.print(csvOf(columns, rows));
  else terminal.print(rows.length === 0 ? nothing : listTable(columns, rows, terminal));
  return !options.json && !options.csv;
}

export function csvOf<Row extends object>(columns: readonly ListColumn<Row>[], rows: readonly Row[]): string {
  const lines = rows.map((row) => columns.map((column) => fieldOf(column, row)));
  return [columns.map(({ name }) => name), ...lines].map(csvLine).join("\n");
}

export function listTable<Row extends object>(
  columns: readonly ListColumn<Row>[],
  rows: readonly Row[],
  terminal: Pick<Terminal, "style" | "columns">,
): string {
  const shown = columns.flatMap((column) =>
    column.title === undefined ? [] : [{ ...column, title: column.title }],
  );
  return table(
    shown,
    rows.map((row) => shown.map((column) => cellOf(column, row))),
    terminal,
  );
}

export function cellOf<Row extends object>(column: ListColumn<Row>, row: Row): string {
  return column.cell === undefined ? String(fieldOf(column, row) ?? "–") : column.cell(row);
}

function fieldOf<Row extends object>({ name, value }: ListColumn<Row>, row: Row): unknown {
  return value === undefined ? Object.entries(row).find(([field]) => field === name)?.[1] : value(row);
}
