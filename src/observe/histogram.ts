/** Upper bounds in milliseconds, the last one open: three for every power of ten. */
export const boundsMs: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000,
];

/** Counts durations by band. Adding one allocates nothing, so that it may stand on the way of every request. */
export class Histogram {
  readonly counts = new Float64Array(boundsMs.length + 1);
  sumMs = 0;
  count = 0;

  add(tookMs: number): void {
    let band = 0;
    while (band < boundsMs.length && tookMs > (boundsMs[band] as number)) band += 1;
    this.counts[band] = (this.counts[band] as number) + 1;
    this.sumMs += tookMs;
    this.count += 1;
  }
}

/**
 * The duration that this share of the requests stayed under, read from the counts of bands. Inside a band
 * requests are taken to be spread evenly; in the open one only its beginning is known.
 */
export function quantileMs(
  share: number,
  bands: readonly { upToMs: number; requests: number }[],
): number | null {
  const total = bands.reduce((sum, band) => sum + band.requests, 0);
  if (total === 0) return null;
  let left = share * total;
  for (const { upToMs, requests } of bands) {
    const fromMs = lowerBoundMs(upToMs);
    if (left <= requests && requests > 0) {
      return boundsMs.includes(upToMs) ? fromMs + (upToMs - fromMs) * (left / requests) : fromMs;
    }
    left -= requests;
  }
  return boundsMs.at(-1) ?? null;
}

function lowerBoundMs(upToMs: number): number {
  const place = boundsMs.indexOf(upToMs);
  return place === -1 ? (boundsMs.at(-1) ?? 0) : (boundsMs[place - 1] ?? 0);
}
