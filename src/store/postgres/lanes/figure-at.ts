import { assert } from "../../../base/assert.ts";

/** One of the numbers in a batch's reply. */
export function figureAt(figures: ArrayLike<number>, index: number): number {
  const figure = figures[index];
  assert(figure !== undefined, "the database answers every item of a batch");
  return figure;
}
