import type { GroupedTotals } from "../reports.ts";
import { StoreError } from "../store-error.ts";
import { type MutableTotals, totalNames, type UsageTotals, zeroTotals } from "../usage-totals.ts";
import type { Dimension } from "./dimensions.ts";

/** A group as a database returns it: the value of the first dimension is `group0`. */
export type GroupedRow = UsageTotals & Readonly<Record<`group${number}`, string | number | null>>;

type Group = MutableTotals & Pick<GroupedTotals, "groups">;

/** More groups would fill the memory: about half a kilobyte each. */
export const maxGroups = 200_000;

/** Merges groups with the same dimension values from several time ranges. */
export class GroupSums {
  readonly #dimensions: readonly Dimension[];
  readonly #sums = new Map<string, Group>();
  readonly total = zeroTotals();

  constructor(dimensions: readonly Dimension[]) {
    this.#dimensions = dimensions;
  }

  readonly add = (rows: readonly GroupedRow[]): void => {
    for (const row of rows) {
      const groups = this.#dimensions.map((dimension, place) => textOf(dimension, row[`group${place}`]));
      const name = groups.length === 1 ? (groups[0] ?? "") : JSON.stringify(groups);
      const sum = this.#sums.getOrInsertComputed(name, () => ({ ...zeroTotals(), groups }));
      for (const total of totalNames) {
        sum[total] += row[total];
        this.total[total] += row[total];
      }
    }
    if (this.#sums.size > maxGroups) {
      throw new StoreError(
        "too_many_groups",
        `This is more than ${maxGroups} groups. Choose a shorter time, one key or fewer dimensions.`,
      );
    }
  };

  get all(): readonly GroupedTotals[] {
    return [...this.#sums.values()];
  }
}

function textOf({ text }: Dimension, value: string | number | null | undefined): string | null {
  if (value === null || value === undefined || value === "") return null;
  return text === undefined ? String(value) : text(value);
}
