import { csvLine } from "../../base/text/csv.ts";
import { count } from "../../base/text/plural.ts";
import { printable } from "../../base/text/printable.ts";
import type { CsvOption, JsonOption } from "../help.ts";
import { printJson, type Terminal, utcMinute } from "./terminal.ts";

/** A column of a list or a report, for both CSV and the table. */
export interface ListColumn<Row> extends Omit<Column, "title"> {
  /** The column's name in CSV, the same as in JSON. */
  readonly name: string;
  /** The CSV value; by default the field of that name. */
  readonly value?: (row: Row) => unknown;
  /** The title in the table. Columns without a title are not in the table. */
  readonly title?: string;
  /** The table's cell; by default the CSV value. */
  readonly cell?: (row: Row) => string;
}

/** Columns that only CSV has. */
export function csvOnly(...names: readonly string[]): readonly { readonly name: string }[] {
  return names.map((name) => ({ name }));
}

type ListOptions = JsonOption & CsvOption;

interface List<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly ListColumn<Row>[];
  /** The JSON output; by default the rows. */
  readonly document?: unknown;
  /** Printed instead of an empty table. */
  readonly nothing: string;
}

/** Prints a list as requested: a table, CSV or JSON. Returns true for a table, after which notes can be printed. */
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

/** The total, if there is one, is the last line. */
export function listTable<Row extends object>(
  columns: readonly ListColumn<Row>[],
  rows: readonly Row[],
  terminal: Pick<Terminal, "style" | "columns">,
  total?: Row,
): string {
  const shown = columns.flatMap((column) =>
    column.title === undefined ? [] : [{ ...column, title: column.title }],
  );
  const cells = (row: Row) => shown.map((column) => cellOf(column, row));
  const sum = total === undefined ? [] : [cells(total).map(terminal.style.bold)];
  return table(shown, [...rows.map(cells), ...sum], terminal);
}

function cellOf<Row extends object>(column: ListColumn<Row>, row: Row): string {
  return column.cell === undefined ? printable(String(fieldOf(column, row) ?? "–")) : column.cell(row);
}

function fieldOf<Row extends object>({ name, value }: ListColumn<Row>, row: Row): unknown {
  return value === undefined ? Object.entries(row).find(([field]) => field === name)?.[1] : value(row);
}

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** May be truncated with an ellipsis if the terminal is too narrow. */
  readonly elastic?: true;
}

const gap = "  ";
const narrowest = 8;
/** If not even that makes the table fit, lines wrap, and cells keep enough to distinguish rows. */
const narrowestIfWrapped = 32;

/** Aligned columns without borders, with a dimmed header. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  terminal: Pick<Terminal, "style" | "columns">,
): string {
  const titles = columns.map((column) => column.title);
  const widths = fit(
    columns,
    columns.map((_, index) => Math.max(...[titles, ...rows].map((row) => Bun.stringWidth(row[index] ?? "")))),
    terminal.columns,
  );
  const lines = rows.map((row) => line(row, columns, widths));
  return [terminal.style.dim(line(titles, columns, widths)), ...lines].join("\n");
}

function line(cells: readonly string[], columns: readonly Column[], widths: readonly number[]): string {
  const padded = columns.map((column, index) => {
    const width = widths[index] ?? 0;
    const cell = cut(cells[index] ?? "", width);
    const padding = " ".repeat(width - Bun.stringWidth(cell));
    return column.align === "right" ? padding + cell : cell + padding;
  });
  return padded.join(gap).trimEnd();
}

/** Shrinks the elastic columns to fit, the widest first. */
function fit(columns: readonly Column[], preferred: readonly number[], available: number | null): number[] {
  const widths = [...preferred];
  if (available === null) return widths;
  const isElastic = (index: number) => columns[index]?.elastic === true;
  const sumOf = (all: readonly number[]) =>
    all.reduce((sum, width) => sum + width, gap.length * (all.length - 1));
  const shortest = preferred.map((width, index) => (isElastic(index) ? Math.min(width, narrowest) : width));
  const least = sumOf(shortest) > available ? narrowestIfWrapped : narrowest;
  for (let excess = sumOf(widths) - available; excess > 0; excess -= 1) {
    const elastic = widths.filter((width, index) => isElastic(index) && width > least);
    if (elastic.length === 0) break;
    const widest = Math.max(...elastic);
    const index = widths.findIndex((width, place) => width === widest && isElastic(place));
    widths[index] = widest - 1;
  }
  return widths;
}

function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  return `${Bun.sliceAnsi(Bun.stripANSI(text), 0, width - 1)}…`;
}

/** A column of moments. */
export function timeColumn<Name extends string>(
  name: Name,
  title: string,
  show: (at: string) => string = utcMinute,
): ListColumn<Readonly<Record<Name, string | null>>> {
  return { name, title, cell: ({ [name]: at }) => (at === null ? "–" : show(at)) };
}

/** A column of numbers. */
export function countColumn<Name extends string>(
  name: Name,
  title: string,
): ListColumn<Readonly<Record<Name, number | null>>> {
  return { name, title, align: "right", cell: ({ [name]: value }) => (value === null ? "–" : count(value)) };
}

export type Fact = readonly [name: string, value: string];
/** False: a fact that does not apply. */
export type Facts = readonly (Fact | false)[];

/** A list of facts: names on the left, values on the right. */
export function facts(all: Facts, terminal: Pick<Terminal, "style">): string {
  const pairs = all.filter((fact) => fact !== false);
  const width = Math.max(...pairs.map(([name]) => Bun.stringWidth(name)));
  return pairs.map(([name, value]) => `${terminal.style.dim(name.padEnd(width))}${gap}${value}`).join("\n");
}
