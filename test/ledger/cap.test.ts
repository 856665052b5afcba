import { expect, test } from "bun:test";
import { msPerDay } from "../../src/base/clock.ts";
import type { HeldAmount } from "../../src/base/money/bound.ts";
import { Cap } from "../../src/ledger/cap.ts";

const today = Date.UTC(2026, 10, 18);
const yesterday = today - msPerDay;
const tomorrow = today + msPerDay;
const record = { no: 1, limit: 100, period: "day", models: null, extra: 0, extraPeriodMs: 0 } as const;

function dailyCap(used = 0): Cap {
  return new Cap(record, "key_cap", { periodStartMs: today, used });
}

function holdAt(countedAtMs: number, amount = 10): HeldAmount {
  return { amount, periodStartMs: 0, countedAtMs };
}

test("a hold of yesterday that ends today gives nothing back to today", () => {
  const cap = dailyCap(40);
  cap.reserve(holdAt(today));
  cap.release(holdAt(yesterday));
  expect(cap.state(today)).toMatchObject({ used: 40, held: 10, left: 60 });
  expect([cap.remaining(), cap.denies(50), cap.denies(51)]).toEqual([50, null, "reserved"]);
  cap.release(holdAt(today));
  expect(cap.remaining()).toBe(60);
});

test("a hold of yesterday is not held of today", () => {
  const cap = dailyCap();
  cap.reserve(holdAt(yesterday));
  expect(cap.remaining()).toBe(100);
});

test("a charge of tomorrow, from before a crash, begins tomorrow", () => {
  const cap = dailyCap(40);
  cap.reserve(holdAt(today));
  cap.charge(7, tomorrow);
  expect(cap.state()).toMatchObject({ used: 7, held: 0, left: 93 });
  expect(cap.periodStartMs).toBe(tomorrow);
});

test("a charge of yesterday changes nothing, and does not go back to it", () => {
  const cap = dailyCap(40);
  cap.charge(7, yesterday);
  expect(cap.state()).toMatchObject({ used: 40, left: 60 });
  expect(cap.periodStartMs).toBe(today);
});

test("as it will be found tomorrow, nothing is used or held, and it resets a day later", () => {
  const cap = dailyCap(40);
  cap.reserve(holdAt(today));
  const state = { used: 0, held: 0, left: 100, resetsAtMs: tomorrow + msPerDay };
  expect(cap.state(tomorrow)).toMatchObject(state);
  expect(cap.state(yesterday)).toMatchObject({ used: 40, held: 10, left: 60, resetsAtMs: tomorrow });
});

test("what is raised for a day counts on that day alone", () => {
  const cap = new Cap({ ...record, extra: 30, extraPeriodMs: today }, "account_cap", {
    periodStartMs: today,
    used: 100,
  });
  expect([cap.denies(30), cap.denies(31)]).toEqual([null, "too_little"]);
  expect(cap.state(today)).toMatchObject({ limit: 130, extra: 30, left: 30 });
  expect(cap.state(tomorrow)).toMatchObject({ limit: 100, extra: 0, left: 100 });
  cap.advance(tomorrow);
  cap.charge(100, tomorrow);
  expect(cap.denies(1)).toBe("used_up");
});

test("of a hold of today, its amount and what no other holds can be charged; of an older one its amount", () => {
  const cap = dailyCap(40);
  cap.reserve(holdAt(today, 20));
  cap.reserve(holdAt(today, 15));
  expect(cap.affordable(holdAt(today, 20))).toBe(45);
  expect(cap.affordable(holdAt(yesterday, 20))).toBe(20);
  expect(cap.affordable({ ...holdAt(yesterday, 0), isLost: true })).toBe(Number.POSITIVE_INFINITY);
  cap.charge(60, today);
  expect(cap.affordable(holdAt(today, 20))).toBe(20);
});

test("all that is left can be held, and no more", () => {
  const cap = dailyCap(40);
  expect([cap.denies(60), cap.denies(61)]).toEqual([null, "too_little"]);
});
