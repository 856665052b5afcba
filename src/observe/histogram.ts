/** Upper bounds of the buckets, three per power of ten. One more bucket is open-ended. */
export const boundsMs: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000,
];

/** Counts durations by bucket. Adding one allocates nothing, because every request does it. */
export class Histogram {
  readonly counts = new Float64Array(boundsMs.length + 1);
  sumMs = 0;
  count = 0;

  add(tookMs: number): void {
    let bucket = 0;
    // Both casts are true because the index stays within the array.
    while (bucket < boundsMs.length && tookMs > (boundsMs[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sumMs += tookMs;
    this.count += 1;
  }
}

/**
 * Estimates a quantile from the counts of buckets. Within a bucket, durations are assumed to be spread evenly. For the
 * open-ended bucket the result is its lower bound.
 */
export function quantileMs(
  share: number,
  buckets: readonly { upToMs: number; requests: number }[],
): number | null {
  const total = buckets.reduce((sum, bucket) => sum + bucket.requests, 0);
  if (total === 0) return null;
  let left = share * total;
  for (const { upToMs, requests } of buckets) {
    const fromMs = lowerBoundMs(upToMs);
    if (left <= requests && requests > 0) {
      return boundsMs.includes(upToMs) ? fromMs + (upToMs - fromMs) * (left / requests) : fromMs;
    }
    left -= requests;
  }
  return boundsMs.at(-1) ?? null;
}

function lowerBoundMs(upToMs: number): number {
  const bucket = boundsMs.indexOf(upToMs);
  return bucket === -1 ? (boundsMs.at(-1) ?? 0) : (boundsMs[bucket - 1] ?? 0);
}
