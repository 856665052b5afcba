/** The upper bound of the last band: there is none. */
const noUpperBoundMs = Number.MAX_SAFE_INTEGER;

/** Three bands for every power of ten: percentiles read from them are right to a factor of about two. */
const boundsMs = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000,
];

/** The upper bound of the band that a column's value falls into, in SQL. */
export function bandOfColumn(column: string): string {
  const cases = boundsMs.map((boundMs) => `WHEN ${column} <= ${boundMs} THEN ${boundMs}`);
  return `CASE ${cases.join(" ")} ELSE ${noUpperBoundMs} END`;
}
