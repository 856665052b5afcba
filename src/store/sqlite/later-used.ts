/** Amounts used in later periods, or days: an expression over a column of `{ at, used }`. */
export function laterUsed(column: string, condition: string): string {
  return `(SELECT coalesce(sum(value ->> 'used'), 0) FROM json_each(${column}) WHERE value ->> 'at' ${condition})`;
}
