import { expect, test } from "bun:test";
import {
  atOnce,
  filterInTurns,
  inTurns,
  mapInTurns,
  type Stepwise,
  sortInTurns,
} from "../../../src/base/loop/in-turns.ts";

/** The most calls of a function within one turn of the event loop. */
async function mostInATurn(work: (count: () => void) => Promise<unknown>): Promise<number> {
  let [calls, most, isOver] = [0, 0, false];
  const endTurn = () => {
    most = Math.max(most, calls);
    calls = 0;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  await work(() => {
    calls += 1;
  });
  isOver = true;
  return Math.max(most, calls);
}

const numbers = Array.from({ length: 200 }, (_, index) => (index * 7_919) % 101);

/** Takes a tenth of a millisecond, as code does that runs for the first time. */
function work(): void {
  const endMs = performance.now() + 0.1;
  while (performance.now() < endMs);
}

const mostWork = 40;

test("a list is mapped in its order, some milliseconds in a turn", async () => {
  let mapped: number[] = [];
  const most = await mostInATurn(async (count) => {
    mapped = await mapInTurns(numbers, (number) => {
      count();
      work();
      return number + 1;
    });
  });
  expect(mapped).toEqual(numbers.map((number) => number + 1));
  expect(most).toBeLessThanOrEqual(mostWork);
  expect(await mapInTurns([1, 2], async (number) => mapInTurns([number], (inner) => inner + 1))).toEqual([
    [2],
    [3],
  ]);
});

test("a list is filtered in its order, some milliseconds in a turn", async () => {
  let found: number[] = [];
  const most = await mostInATurn(async (count) => {
    found = await filterInTurns(numbers, (number) => {
      count();
      work();
      return number % 2 === 0;
    });
  });
  expect(found).toEqual(numbers.filter((number) => number % 2 === 0));
  expect(most).toBeLessThanOrEqual(mostWork);
});

test("a list is sorted as toSorted does it, equal items in their order, in several turns if it is long", async () => {
  const items = Array.from({ length: 20_000 }, (_, index) => ({ rank: (index * 7_919) % 100, index }));
  const byRank = (one: { rank: number }, other: { rank: number }) => one.rank - other.rank;
  let sorted: readonly object[] = [];
  let comparisons = 0;
  const most = await mostInATurn(async (count) => {
    sorted = await sortInTurns(items, (one, other) => {
      count();
      comparisons += 1;
      return byRank(one, other);
    });
  });
  expect(sorted).toEqual(items.toSorted(byRank));
  expect(most).toBeLessThan(comparisons);
  expect(await sortInTurns([], byRank)).toEqual([]);
  expect(await sortInTurns([{ rank: 2 }, { rank: 1 }], byRank)).toEqual([{ rank: 1 }, { rank: 2 }]);
});

test("stepwise work gives the same at once and in turns, one step in a turn", async () => {
  function* work(count: () => void): Stepwise<string> {
    for (let step = 0; step < 5; step += 1) {
      count();
      yield;
    }
    return "done";
  }
  expect(atOnce(work(() => {}))).toBe("done");
  let result = "";
  const most = await mostInATurn(async (count) => {
    result = await inTurns(work(count));
  });
  expect([result, most]).toEqual(["done", 1]);
});
