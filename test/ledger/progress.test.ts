import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { Hold } from "../../src/ledger/hold.ts";
import { ProgressNotes } from "../../src/ledger/progress.ts";
import { FakeClock } from "../support/clock.ts";
import { costing } from "../support/rates.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const parts = {
  ...{
    keyId: "key_1",
    accountId: "acc_1",
    exchangeId: "req_1",
    model: "m",
    requestedModel: null,
    labels: null,
  },
  ...{ amount: 100, openedAtMs: 0, periodStartMs: 0, countedAtMs: 0 },
};

function notesOf() {
  const clock = new FakeClock();
  const journaled: (number | undefined)[][] = [];
  const notes = new ProgressNotes({
    clock,
    tickMs: 50,
    journal: (holds) => journaled.push(holds.map(({ soFar }) => soFar?.cost)),
  });
  const pass = (ms: number) => {
    clock.advance(ms);
    jest.advanceTimersByTime(ms);
  };
  return { notes, journaled, pass };
}

test("progress is journaled at most every 200 ms, and a timer runs only while there is some", () => {
  const { notes, journaled, pass } = notesOf();
  const hold = new Hold(parts);
  notes.take(hold, costing(1));
  expect(jest.getTimerCount()).toBe(1);
  pass(50);
  expect(journaled).toEqual([[1]]);
  expect(jest.getTimerCount()).toBe(0);
  notes.take(hold, costing(2));
  notes.take(hold, costing(3));
  for (let ticks = 0; ticks < 3; ticks += 1) pass(50);
  expect(journaled).toEqual([[1]]);
  pass(50);
  expect(journaled).toEqual([[1], [3]]);
  expect(jest.getTimerCount()).toBe(0);
});

test("nothing is journaled when all that made progress has ended", () => {
  const { notes, journaled, pass } = notesOf();
  const hold = new Hold(parts);
  notes.take(hold, costing(1));
  hold.end("settled");
  pass(50);
  expect(journaled).toEqual([]);
  expect(jest.getTimerCount()).toBe(0);
});
