import { assert } from "../../../base/assert.ts";

/** One of the numbers in a batch's reply. */
export function numberAt(numbers: ArrayLike<number>, index: number): number {
  const value = numbers[index];
  assert(value !== undefined, "the database replies to every item of a batch");
  return value;
}
