interface Bar {
  readonly step: number;
  readonly from: number;
  readonly to: number;
}

/** Start and end of each bar of a stack, on top of the stacks before it. */
export function barSteps(
  stacks: readonly { readonly values: readonly number[] }[],
  place: number,
  values: readonly number[],
): readonly Bar[] {
  return values.map((value, step) => {
    const from = stacks.slice(0, place).reduce((sum, stack) => sum + (stack.values[step] ?? 0), 0);
    return { step, from, to: from + value };
  });
}

const stepsWanted = 4;

/** Round marks of an axis, from 0 to at least the highest value. */
export function niceMarks(highest: number): readonly number[] {
  if (!(highest > 0)) return [0, 1];
  const rough = highest / stepsWanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((each) => each * power >= rough) ?? 10;
  const count = Math.ceil(highest / (factor * power) - 1e-9);
  return Array.from({ length: count + 1 }, (_, place) => Number((place * factor * power).toPrecision(12)));
}
