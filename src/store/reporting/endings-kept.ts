import type { EndingsKept } from "../reports.ts";

/** The first and the last id of the kept endings, and when the first ended; null where there are none. */
export interface EndingsBounds {
  readonly first: number | null;
  readonly last: number | null;
  readonly oldestAtMs: number | null;
}

/** Endings are deleted in the order of their ids, so that those between the first and the last are all there. */
export function endingsKeptOf(bounds: EndingsBounds | undefined): EndingsKept {
  if (bounds === undefined || bounds.first === null || bounds.last === null)
    return { oldestAtMs: null, count: 0 };
  return { oldestAtMs: bounds.oldestAtMs, count: bounds.last - bounds.first + 1 };
}
