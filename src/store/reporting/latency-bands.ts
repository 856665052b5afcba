import { boundsMs } from "../../base/duration-bands.ts";

/** The last band has no upper bound. */
const noUpperBoundMs = Number.MAX_SAFE_INTEGER;

/** An SQL expression for the upper bound of a value's band. */
export function bandOfColumn(column: string): string {
  const cases = boundsMs.map((boundMs) => `WHEN ${column} <= ${boundMs} THEN ${boundMs}`);
  return `CASE ${cases.join(" ")} ELSE ${noUpperBoundMs} END`;
}
