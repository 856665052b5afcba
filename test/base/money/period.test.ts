import { expect, test } from "bun:test";
import { nextPeriodStart, periodStart } from "../../../src/base/money/period.ts";
import type { BudgetPeriod } from "../../../src/store/store.ts";

const cases: readonly [BudgetPeriod, string, string, string][] = [
  ["day", "2026-11-15T23:59:59.999Z", "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z"],
  ["day", "2026-11-16T00:00:00Z", "2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z"],
  ["week", "2026-11-15T23:59:59Z", "2026-11-09T00:00:00Z", "2026-11-16T00:00:00Z"],
  ["week", "2026-11-16T00:00:00Z", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"],
  ["week", "1970-01-02T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"],
  ["month", "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
  ["month", "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
];

test.each(cases)("a %s at %s begins at %s and is followed by %s", (period, now, start, next) => {
  expect(new Date(periodStart(period, Date.parse(now)))).toEqual(new Date(start));
  expect(new Date(nextPeriodStart(period, Date.parse(now)) ?? 0)).toEqual(new Date(next));
});

test("a budget without a period begins with time itself and never refreshes", () => {
  expect(periodStart("none", Date.now())).toBe(0);
  expect(nextPeriodStart("none", Date.now())).toBeNull();
});
