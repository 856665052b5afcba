import { expect, test } from "bun:test";
import { BodyBudget } from "../../src/limits/body-budget.ts";

const budgetOf = (total: number, largest: number) =>
  new BodyBudget({ totalBytes: () => total, largestBytes: () => largest });

/** As much as a holder can get, one by one. */
function fill(budget: BodyBudget, holder: string): number {
  const reservation = budget.reserve(holder);
  let bytes = 0;
  while (reservation.grow(1)) bytes += 1;
  return bytes;
}

const longMs = 60_000;

test("a holder gets as much as it leaves free: half of all, half of the rest, and so on", () => {
  const budget = budgetOf(1024, 10);
  expect(["a", "b", "c", "d"].map((holder) => fill(budget, holder))).toEqual([512, 256, 128, 64]);
  expect(fill(budget, "a")).toBe(0);
  expect(budget.takenBytes).toBe(960);
});

test("a holder may take one of the largest bodies, until only the reserved part is left", () => {
  const budget = budgetOf(800, 200);
  expect(fill(budget, "a")).toBe(400);
  expect(["b", "c", "d"].map((holder) => fill(budget, holder))).toEqual([200, 100, 50]);
  // An eighth was kept from those; it is shared like all else.
  expect(fill(budget, "e")).toBe(25);
});

test("whoever leaves bodies unfinished, a small one of another holder finds room", () => {
  const budget = budgetOf(512 * 1024 * 1024, 32 * 1024 * 1024);
  for (let holder = 0; holder < 15; holder += 1) {
    const reservation = budget.reserve(`greedy ${holder}`);
    for (let bytes = 32 * 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2))
      while (reservation.grow(bytes));
  }
  expect(budget.reserve("other").grow(100)).toBe(true);
});

test("the largest body fits, and nothing above it, where there is memory for one alone", () => {
  expect(fill(budgetOf(100, 100), "a")).toBe(100);
  expect(fill(budgetOf(101, 100), "a")).toBe(100);
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

test("what a holder gives back of one body does not make it forget its others", () => {
  const budget = budgetOf(1024, 10);
  const [one, other] = [budget.reserve("a"), budget.reserve("a")];
  one.grow(300);
  other.grow(200);
  one.release();
  // Two hundred are still its own, and it leaves free as much as it has.
  expect(fill(budget, "a")).toBe(312);
  other.release();
  expect(fill(budget, "a")).toBe(200);
});

test("a new limit holds for what is taken from then on", () => {
  let total = 100;
  const budget = new BodyBudget({ totalBytes: () => total, largestBytes: () => total });
  const reservation = budget.reserve("a");
  expect(reservation.grow(60)).toBe(true);
  total = 50;
  expect(reservation.grow(1)).toBe(false);
});

test("whoever waits for room gets it once it fits, in the order of those who wait", async () => {
  const budget = budgetOf(100, 100);
  const [first, second, third] = [budget.reserve("a"), budget.reserve("b"), budget.reserve("c")];
  const got: string[] = [];
  first.grow(80);
  const waiting = [
    second.growWhenFree(60, longMs).then(() => got.push("second")),
    third.growWhenFree(15, longMs).then(() => got.push("third")),
  ];
  first.shrinkTo(70);
  await Bun.sleep(0);
  expect([got, budget.takenBytes]).toEqual([["third"], 85]);
  first.release();
  await Promise.all(waiting);
  expect([got, budget.takenBytes]).toEqual([["third", "second"], 75]);
});

test("who waits for no more than before keeps waiting in the same place", async () => {
  const budget = budgetOf(100, 100);
  const [first, second] = [budget.reserve("a"), budget.reserve("b")];
  first.grow(100);
  const waiting = second.growWhenFree(60, longMs);
  expect(second.growWhenFree(60, longMs)).toBe(waiting);
  expect(second.growWhenFree(20, longMs)).toBe(waiting);
  first.release();
  await waiting;
  expect(budget.takenBytes).toBe(60);
});

test("a reservation that has shrunk takes memory again for its next part", async () => {
  const budget = budgetOf(100, 100);
  const reservation = budget.reserve("a");
  await reservation.growWhenFree(60, longMs);
  reservation.shrinkTo(0);
  await reservation.growWhenFree(50, longMs);
  expect(budget.takenBytes).toBe(50);
  reservation.release();
  expect(budget.takenBytes).toBe(0);
});

test("a reservation that is released while it waits takes nothing, and keeps nobody waiting", async () => {
  const budget = budgetOf(100, 100);
  const [first, second] = [budget.reserve("a"), budget.reserve("b")];
  first.grow(100);
  const waiting = second.growWhenFree(60, longMs);
  second.release();
  await waiting;
  expect(budget.takenBytes).toBe(100);
  first.release();
  expect(budget.takenBytes).toBe(0);
});

test("a reservation that has waited for long takes what is not there, and gives it back as any other", async () => {
  const budget = budgetOf(100, 100);
  const [first, second] = [budget.reserve("a"), budget.reserve("b")];
  first.grow(100);
  await second.growWhenFree(60, 20);
  expect(budget.takenBytes).toBe(160);
  second.release();
  expect(budget.takenBytes).toBe(100);
});

test("a reservation that may not exceed the limits takes nothing if it has waited for long", async () => {
  const budget = budgetOf(100, 100);
  const [first, second, third] = [budget.reserve("a"), budget.reserve("b"), budget.reserve("c")];
  first.grow(100);
  expect(await second.growWhenFree(60, 20, false)).toBe(false);
  expect(budget.takenBytes).toBe(100);
  const waiting = third.growWhenFree(60, longMs, false);
  first.release();
  expect([await waiting, budget.takenBytes]).toEqual([true, 60]);
});

test("a reservation that is released grows no more", () => {
  const budget = budgetOf(100, 100);
  const reservation = budget.reserve("a");
  reservation.grow(10);
  reservation.release();
  expect(reservation.grow(10)).toBe(false);
  expect(budget.takenBytes).toBe(0);
});

test("what is given back goes to whoever waits for it, at once", async () => {
  const budget = budgetOf(10, 10);
  const [one, other] = [budget.reserve("a"), budget.reserve("b")];
  expect(one.grow(10)).toBe(true);
  const waiting = other.growWhenFree(10, longMs);
  one.shrinkTo(0);
  await waiting;
  expect([budget.takenBytes, one.grow(1)]).toEqual([10, false]);
});
