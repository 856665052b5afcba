/**
 * Amounts used in periods later than the current one: a clock was ahead, and was set back. A charge counts in its own
 * period once that begins, and before that in the period to which the clock returned, so that no wrong clock makes
 * requests free. It counts in no period between them.
 */
export interface LaterUse {
  /** The start of the period, or the number of the day. */
  readonly at: number;
  readonly used: number;
  /** The start of the period to which the clock returned. Absent for days, which count their own charges only. */
  readonly in?: number;
}

const none: readonly LaterUse[] = [];

/** Parses a column of the store. */
export function laterUseOf(text: string | null | undefined): readonly LaterUse[] {
  // Safe cast: written by the store itself.
  return text == null ? none : (JSON.parse(text) as LaterUse[]);
}

/** The amount of a budget that is used in a period that begins at this moment, and may not be stored yet. */
export function budgetUsedIn(
  totals: { readonly periodStartMs: number; readonly periodUsed: number; readonly laterUsed?: string | null },
  at: number,
): number {
  // A period that was made longer since began before that, and what was used counts on.
  return totals.periodStartMs >= at ? totals.periodUsed : usedIn(laterUseOf(totals.laterUsed), at);
}

/** The amount that counts in the period that begins at this moment. */
export function usedIn(later: readonly LaterUse[], at: number): number {
  let sum = 0;
  for (const each of later) if (each.at === at || each.in === at) sum += each.used;
  return sum;
}

/** What a period counts to which a clock returns: its own charges, and those that are now ahead, unless they counted at an earlier return. */
export function returnTo(
  startMs: number,
  charged: readonly Omit<LaterUse, "in">[],
  before: readonly LaterUse[],
): { readonly used: number; readonly later: readonly LaterUse[] } {
  const later = before.filter(({ at }) => at > startMs);
  let used = 0;
  for (const { at, used: amount } of charged) {
    if (at === startMs) used += amount;
    if (at <= startMs) continue;
    let rest = amount;
    for (const each of before) if (each.at === at) rest -= each.used;
    if (rest > 0) later.push({ at, used: rest, in: startMs });
  }
  return { used: used + usedIn(later, startMs), later };
}

/** The store's column. */
export function laterUseText(later: readonly LaterUse[]): string | null {
  return later.length === 0 ? null : JSON.stringify(later);
}
