import { expect, test } from "bun:test";
import { tightestCap } from "../../../src/base/money/tightest-cap.ts";
import { billedUnit, shortCredits } from "../../../src/base/text/plural.ts";

test.each([
  [0, "0.00"],
  [12.5, "12.50"],
  [1_734.204999, "1,734.20"],
  [0.75, "0.75"],
  [0.0312, "0.0312"],
  [0.00012345, "0.0001"],
  [0.0001, "0.0001"],
  [0.000099, "<0.0001"],
  [-0.000000001, ">-0.0001"],
  [-3, "-3.00"],
])("%p credits are listed as %p", (value, text) => {
  expect(shortCredits(value)).toBe(text);
});

test("one credit and one token are singular", () => {
  expect([billedUnit("credit", 1), billedUnit("credit", 0.5)]).toEqual(["credit", "credits"]);
  expect([billedUnit("token_budget", 1), billedUnit("token_budget", 2)]).toEqual(["token", "tokens"]);
});

test("the tightest cap is the one with the least left, and an exceeded one has nothing left", () => {
  const day = { limit: 5, used: 4.7 };
  const month = { limit: 100, used: 20 };
  expect(tightestCap([month, day])).toBe(day);
  const exceeded = { limit: 1, used: 2 };
  expect(tightestCap([day, exceeded])).toBe(exceeded);
  expect(tightestCap([])).toBeNull();
});
