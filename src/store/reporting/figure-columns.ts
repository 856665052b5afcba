import { figureNames } from "../figures.ts";

/** The column of a figure. */
export function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The columns of all figures, as every table and view of sums has them. */
export const figureColumnNames: readonly string[] = figureNames.map(columnOf);

export const figureColumns = figureColumnNames.join(", ");

/** Sums of all figures, under the names that the program uses. */
export const summedFigures = figureNames
  .map((name) => `sum(${columnOf(name)})::float8 AS "${name}"`)
  .join(", ");
