/** The shortest chart shows an hour and compares it with the one before. */
export const minutesKept = 180;

/**
 * Selects the oldest of the last minutes in which anything happened; NULL while there are fewer. They are counted, because the time of a
 * row alone proves nothing: one call under a clock that is hours ahead would take everybody's last hours with it. What is dated after `now`,
 * an expression in minutes since 1970, is not counted.
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
