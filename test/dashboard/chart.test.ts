import { expect, test } from "bun:test";
import {
  everyDay,
  loneIndices,
  splitUnfinished,
  totalsByDay,
} from "../../src/dashboard/page/parts/chart-values.ts";

test("a value between two gaps is marked, because no line leads to it", () => {
  expect(loneIndices([1, null, 2, 3, null, 4])).toEqual([0, 5]);
  expect(loneIndices([null, 1, null])).toEqual([1]);
  expect(loneIndices([1, 2])).toEqual([]);
});

test("the step that is not over is apart, and a line leads to it from the one before", () => {
  expect(splitUnfinished([1, 2, 3], "line")).toEqual({ over: [1, 2, null], running: [null, 2, 3] });
  expect(splitUnfinished([1, 2, 3], "bars")).toEqual({ over: [1, 2, null], running: [null, null, 3] });
  expect(splitUnfinished([5], "area")).toEqual({ over: [null], running: [5] });
});

test("a day without data is a gap between its neighbours, not a zero and not a line across", () => {
  const days = everyDay(["2026-02-27", "2026-03-01", "2026-02-27"]);
  expect(days).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  const rows = [
    { date: "2026-02-27", value: 1 },
    { date: "2026-03-01", value: 0 },
    { date: "2026-02-27", value: 2 },
  ];
  expect(totalsByDay(days, rows)).toEqual([3, null, 0]);
  expect(everyDay([])).toEqual([]);
});
