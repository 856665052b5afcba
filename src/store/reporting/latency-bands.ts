/** The last band has no upper bound. */
const noUpperBoundMs = Number.MAX_SAFE_INTEGER;

/** Three bands per power of ten, so that percentiles are right to a factor of about two. */
const boundsMs = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000,
];

/** An SQL expression for the upper bound of a value's band. */
export function bandOfColumn(column: string): string {
  const cases = boundsMs.map((boundMs) => `WHEN ${column} <= ${boundMs} THEN ${boundMs}`);
  return `CASE ${cases.join(" ")} ELSE ${noUpperBoundMs} END`;
}
