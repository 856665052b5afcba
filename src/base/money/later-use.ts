/**
 * Amounts used in periods later than the current one: a clock was ahead, and was set back. A charge counts in its own
 * period and, until that begins, in the current one too, so that no wrong clock makes requests free.
 */
export interface LaterUse {
  /** The start of the period, or the number of the day. */
  readonly at: number;
  readonly used: number;
}

const none: readonly LaterUse[] = [];

/** Parses a column of the store. */
export function laterUseOf(text: string | null | undefined): readonly LaterUse[] {
  // Safe cast: written by the store itself.
  return text == null ? none : (JSON.parse(text) as LaterUse[]);
}

/** The amount of a budget that is used in a period that begins at this moment, and may not be stored yet. */
export function budgetUsedFrom(
  totals: { readonly periodStartMs: number; readonly periodUsed: number; readonly laterUsed?: string | null },
  at: number,
): number {
  // A period that was made longer since began before that, and what was used counts on.
  return totals.periodStartMs >= at ? totals.periodUsed : usedFrom(laterUseOf(totals.laterUsed), at);
}

/** The amount that counts in a period that begins at this moment. */
export function usedFrom(later: readonly LaterUse[], at: number): number {
  let sum = 0;
  for (const each of later) if (each.at >= at) sum += each.used;
  return sum;
}
