import { msPerDay, utcDay } from "../clock.ts";
import { type BudgetPeriod, capPeriods } from "../key-attributes.ts";

/** 1970-01-05 was the first Monday. */
const firstMonday = 4;

/** The UTC calendar boundary at or before a moment; 0 for a budget that never refreshes. */
export function periodStart(period: BudgetPeriod, nowMs: number): number {
  switch (period) {
    case "none":
      return 0;
    case "day":
      return utcDay(nowMs) * msPerDay;
    case "week":
      return (Math.floor((utcDay(nowMs) - firstMonday) / 7) * 7 + firstMonday) * msPerDay;
    case "month":
      return monthStart(nowMs);
  }
}

/** The starts of the day, the week and the month. */
export function periodStarts(nowMs: number): number[] {
  return capPeriods.map((period) => periodStart(period, nowMs));
}

/** Cached, because each charge needs it about ten times, and a date takes 100 ns. */
let knownMonth = { startMs: 0, endMs: 0 };

function monthStart(nowMs: number): number {
  if (nowMs < knownMonth.startMs || nowMs >= knownMonth.endMs) {
    const date = new Date(nowMs);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    knownMonth = { startMs: Date.UTC(year, month, 1), endMs: Date.UTC(year, month + 1, 1) };
  }
  return knownMonth.startMs;
}

/** When the budget is fresh again; null when it never is. */
export function nextPeriodStart(period: BudgetPeriod, nowMs: number): number | null {
  switch (period) {
    case "none":
      return null;
    case "day":
      return periodStart("day", nowMs) + msPerDay;
    case "week":
      return periodStart("week", nowMs) + 7 * msPerDay;
    case "month": {
      const date = new Date(nowMs);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
    }
  }
}
