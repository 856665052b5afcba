import { expect, test } from "bun:test";
import { BodyBudget } from "../../src/limits/body-budget.ts";

const budgetOf = (total: number, perHolder: number) =>
  new BodyBudget({ totalBytes: () => total, perHolderBytes: () => perHolder });

test("all bodies together get no more than there is, and one holder no more than its share", () => {
  const budget = budgetOf(100, 60);
  const [a, b, c] = [budget.reserve("a"), budget.reserve("b"), budget.reserve("a")];
  expect(a.grow(50)).toBe(true);
  expect(c.grow(11)).toBe(false);
  expect(c.grow(10)).toBe(true);
  expect(b.grow(41)).toBe(false);
  expect(b.grow(40)).toBe(true);
  expect(budget.takenBytes).toBe(100);
});

test("what was taken is given back once, and what was refused was never taken", () => {
  const budget = budgetOf(100, 100);
  const reservation = budget.reserve("a");
  reservation.grow(70);
  expect(reservation.grow(31)).toBe(false);
  reservation.release();
  reservation.release();
  expect(budget.takenBytes).toBe(0);
  expect(budget.reserve("a").grow(100)).toBe(true);
});

test("a new limit holds for what is taken from then on", () => {
  let total = 100;
  const budget = new BodyBudget({ totalBytes: () => total, perHolderBytes: () => total });
  const reservation = budget.reserve("a");
  expect(reservation.grow(60)).toBe(true);
  total = 50;
  expect(reservation.grow(1)).toBe(false);
});
