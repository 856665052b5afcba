/** The shortest chart shows an hour and compares it with the one before. */
export const minutesKept = 180;

/**
 * Selects the oldest of the last minutes with activity; NULL while there are fewer. Minutes are counted rather than
 * computed from the newest time, because one request under a clock that is hours ahead would otherwise expire the
 * last hours. Rows dated after `now`, an expression in minutes since 1970, do not count.
 */
export function oldestKeptMinute(now: string): string {
  return `
WITH RECURSIVE kept (minute, place) AS (
  SELECT (SELECT max(minute) FROM usage_minutes WHERE minute <= ${now}), 1
  UNION ALL
  SELECT (SELECT max(minute) FROM usage_minutes WHERE minute < kept.minute), place + 1 FROM kept
  WHERE kept.minute IS NOT NULL AND place < ${minutesKept}
)
SELECT minute FROM kept WHERE place = ${minutesKept}`;
}
