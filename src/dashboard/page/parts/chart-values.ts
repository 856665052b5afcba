/** Null where nothing was measured. */
export type Values = readonly (number | null)[];
export type Shape = "bars" | "area" | "line";

/** Values between two gaps need a dot, because a line of one point is invisible. */
export function loneIndices(values: Values): number[] {
  const isGap = (index: number) => (values[index] ?? null) === null;
  return values.flatMap((value, index) =>
    value !== null && isGap(index - 1) && isGap(index + 1) ? [index] : [],
  );
}

/** Splits the values into finished steps and the unfinished last one. Lines to the last value start at the value before. */
export function splitUnfinished(values: Values, shape: Shape | undefined) {
  const last = values.length - 1;
  const begin = shape === "bars" ? last : last - 1;
  return {
    over: values.map((value, index) => (index === last ? null : value)),
    running: values.map((value, index) => (index >= begin ? value : null)),
  };
}

const dayMs = 86_400_000;

/** Every day from the first to the last, with those between them that have no data. Days are `2026-11-18`. */
export function everyDay(dates: readonly string[]): readonly string[] {
  const times = dates.map((date) => Date.parse(date));
  if (times.length === 0) return [];
  const first = Math.min(...times);
  const length = Math.round((Math.max(...times) - first) / dayMs) + 1;
  return Array.from({ length }, (_, index) => new Date(first + index * dayMs).toISOString().slice(0, 10));
}

/** The sum of each day; null for a day without data, which a chart draws as a gap and not as zero. */
export function totalsByDay(
  days: readonly string[],
  rows: readonly { readonly date: string; readonly value: number }[],
): Values {
  const totals = new Map<string, number>();
  for (const { date, value } of rows) totals.set(date, (totals.get(date) ?? 0) + value);
  return days.map((day) => totals.get(day) ?? null);
}
