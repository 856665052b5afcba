/** Rows are in the order in which they were written, which is that of their ends up to this. */
export const disorderMs = 60_000;

/** So many rows in a row tell the time: one that was written under a wrong clock does not. */
export const rowsThatTell = 32;

/**
 * The id from which a search for rows that ended before `untilMs` may begin: no later row did. `timeAt` tells when the first
 * rows from an id on ended, the earliest of them. A bisection, because there is no index on times: some twenty look-ups among a million rows.
 */
export async function lastIdBefore(
  untilMs: number,
  newestId: number,
  timeAt: (id: number) => number | Promise<number>,
): Promise<number> {
  let [low, high] = [0, newestId + 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if ((await timeAt(middle)) < untilMs + disorderMs) low = middle;
    else high = middle;
  }
  return low;
}
