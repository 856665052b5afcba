import { expect, test } from "bun:test";
import { loneIndices, splitRunning } from "../../src/dashboard/page/parts/chart-values.ts";

test("a value between two gaps is marked, because no line leads to it", () => {
  expect(loneIndices([1, null, 2, 3, null, 4])).toEqual([0, 5]);
  expect(loneIndices([null, 1, null])).toEqual([1]);
  expect(loneIndices([1, 2])).toEqual([]);
});

test("the step that is not over is apart, and a line leads to it from the one before", () => {
  expect(splitRunning([1, 2, 3], "line")).toEqual({ over: [1, 2, null], running: [null, 2, 3] });
  expect(splitRunning([1, 2, 3], "bars")).toEqual({ over: [1, 2, null], running: [null, null, 3] });
  expect(splitRunning([5], "area")).toEqual({ over: [null], running: [5] });
});
