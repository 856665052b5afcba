import { expect, test } from "bun:test";
import { noUsage } from "../../src/base/usage/usage.ts";
import { isEndOverdue } from "../../src/gateway/answer/end-overdue.ts";

/** A provider that has written everything. */
const complete = { started: true, partialUsage: noUsage, isComplete: () => true };

test("the end is overdue after a second if the usage has come, and after five without", () => {
  expect(isEndOverdue(complete, 999)).toBe(false);
  expect(isEndOverdue(complete, 1_000)).toBe(true);
  expect(isEndOverdue({ ...complete, partialUsage: null }, 4_999)).toBe(false);
  expect(isEndOverdue({ ...complete, partialUsage: null }, 5_000)).toBe(true);
});

test("an answer that has not begun, or is not complete, has no overdue end", () => {
  expect(isEndOverdue({ ...complete, started: false }, 10_000)).toBe(false);
  expect(isEndOverdue({ ...complete, isComplete: () => false }, 10_000)).toBe(false);
});
