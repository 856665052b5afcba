/** What a cap allows in its period, and how much of it is used: credits or tokens. */
export interface CapUse {
  readonly limit: number;
  readonly used: number;
}

/** What a cap still allows. */
export function leftOfCap({ limit, used }: CapUse): number {
  return Math.max(0, limit - used);
}

/** Caps whose use is already known for the next request. */
export function knownUse<Cap extends { readonly limit: number; readonly used: number | null }>(
  caps: readonly Cap[],
): (Cap & CapUse)[] {
  return caps.flatMap((cap) => (cap.used === null ? [] : [{ ...cap, used: cap.used }]));
}

/** The cap with the least remaining, of a key's caps and its account's; null without any. */
export function tightestCap<Cap extends CapUse>(caps: readonly Cap[]): Cap | null {
  return caps.toSorted((one, other) => leftOfCap(one) - leftOfCap(other))[0] ?? null;
}
