import type { Terminal } from "./terminal.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** May be truncated with an ellipsis if the terminal is too narrow. */
  readonly elastic?: true;
}

const gap = "  ";
const narrowest = 8;

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
function fit(columns: readonly Column[], wanted: readonly number[], available: number | null): number[] {
  const widths = [...wanted];
  if (available === null) return widths;
  let excess = widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1)) - available;
  while (excess > 0) {
    const widest = widestElastic(columns, widths);
    if (widest === null) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

function widestElastic(columns: readonly Column[], widths: readonly number[]): number | null {
  let widest: number | null = null;
  for (const [index, column] of columns.entries()) {
    const width = widths[index] ?? 0;
    if (column.elastic === true && width > narrowest && width > (widths[widest ?? -1] ?? 0)) widest = index;
  }
  return widest;
}

function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let kept = "";
  for (const character of Bun.stripANSI(text)) {
    if (Bun.stringWidth(kept + character) >= width) break;
    kept += character;
  }
  return `${kept}…`;
}

/** One thing in full: names on the left, values on the right. */
export function facts(
  pairs: readonly (readonly [string, string])[],
  terminal: Pick<Terminal, "style">,
): string {
  const width = Math.max(...pairs.map(([name]) => Bun.stringWidth(name)));
  return pairs.map(([name, value]) => `${terminal.style.dim(name.padEnd(width))}${gap}${value}`).join("\n");
}
