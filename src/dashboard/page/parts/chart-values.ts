/** Null where nothing was measured. */
export type Values = readonly (number | null)[];
export type Shape = "bars" | "area" | "line";

/** A value between two gaps is no line, and would not be seen. */
export function loneIndices(values: Values): number[] {
  const isGap = (index: number) => (values[index] ?? null) === null;
  return values.flatMap((value, index) =>
    value !== null && isGap(index - 1) && isGap(index + 1) ? [index] : [],
  );
}

/** What is over, and then for each line what is not: the line to it begins at the value before. */
export function splitRunning(values: Values, shape: Shape | undefined) {
  const last = values.length - 1;
  const begin = shape === "bars" ? last : last - 1;
  return {
    over: values.map((value, index) => (index === last ? null : value)),
    running: values.map((value, index) => (index >= begin ? value : null)),
  };
}
