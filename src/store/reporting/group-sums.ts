import { type Figures, figureNames, type MutableFigures, noFigures } from "../figures.ts";
import type { GroupedFigures } from "../reports.ts";
import type { Dimension } from "./dimensions.ts";

/** A group as a database returns it: the value of the first dimension is `group0`. */
export type GroupedRow = Figures & Readonly<Record<`group${number}`, string | number | null>>;

interface Group {
  readonly groups: readonly (string | null)[];
  readonly figures: MutableFigures;
}

/** Adds up what has the same values in several pieces. */
export class GroupSums {
  readonly #dimensions: readonly Dimension[];
  readonly #sums = new Map<string, Group>();

  constructor(dimensions: readonly Dimension[]) {
    this.#dimensions = dimensions;
  }

  readonly add = (rows: readonly GroupedRow[]): void => {
    for (const row of rows) {
      const groups = this.#dimensions.map((dimension, place) => textOf(dimension, row[`group${place}`]));
      const name = groups.length === 1 ? (groups[0] ?? "") : JSON.stringify(groups);
      const sum = this.#sums.get(name) ?? { groups, figures: noFigures() };
      this.#sums.set(name, sum);
      for (const figure of figureNames) sum.figures[figure] += row[figure];
    }
  };

  get all(): readonly GroupedFigures[] {
    return [...this.#sums.values()].map(({ groups, figures }) => ({ groups, ...figures }));
  }
}

function textOf({ text }: Dimension, value: string | number | null | undefined): string | null {
  if (value === null || value === undefined || value === "") return null;
  return text === undefined ? String(value) : text(value);
}
