import { assert } from "../../../base/assert.ts";

/** One of the figures in a batch's answer, which has one for each item. */
export function figureAt(figures: ArrayLike<number>, index: number): number {
  const figure = figures[index];
  assert(figure !== undefined, "the database answers every item of a batch");
  return figure;
}
