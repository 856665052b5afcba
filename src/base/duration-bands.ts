/**
 * Upper bounds of the bands that durations are counted in: three per power of ten, so that percentiles are right to a
 * factor of about two. One more band has no upper bound.
 */
export const boundsMs: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000,
];
