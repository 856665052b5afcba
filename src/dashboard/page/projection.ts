/** A limit, what of it is used, and since when. */
export interface UsedLimit {
  readonly limit: number;
  readonly used: number;
  readonly startMs: number;
  /** Time at which the period resets; null if it never does. */
  readonly endMs: number | null;
}

export interface Projection {
  /** Projected use at the end, at the rate since the start; null without an end. */
  readonly atEnd: number | null;
  /** When nothing is left, at this rate; null if that is after the end, or if nothing is used. */
  readonly usedUpMs: number | null;
}

/** Projects a limit's use, at the rate since the start of its period. */
export function project({ limit, used, startMs, endMs }: UsedLimit, nowMs: number): Projection {
  const elapsedMs = Math.max(1, nowMs - startMs);
  const perMs = used / elapsedMs;
  const atEnd = endMs === null ? null : used + perMs * Math.max(0, endMs - nowMs);
  if (used >= limit) return { atEnd, usedUpMs: nowMs };
  const usedUpMs = perMs > 0 ? nowMs + (limit - used) / perMs : Number.POSITIVE_INFINITY;
  const isInTime = Number.isFinite(usedUpMs) && (endMs === null || usedUpMs < endMs);
  return { atEnd, usedUpMs: isInTime ? usedUpMs : null };
}
