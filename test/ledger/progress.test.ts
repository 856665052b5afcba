import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { Hold } from "../../src/ledger/hold.ts";
import { ProgressNotes } from "../../src/ledger/progress.ts";
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
  const journaled: (number | undefined)[][] = [];
  const notes = new ProgressNotes({
    tickMs: 50,
    journal: (holds) => journaled.push(holds.map(({ soFar }) => soFar?.cost)),
  });
  return { notes, journaled, pass: (ms: number) => void jest.advanceTimersByTime(ms) };
}

test("a tick journals the latest progress of each hold once, and a timer runs only while there is some", () => {
  const { notes, journaled, pass } = notesOf();
  const [hold, other] = [new Hold(parts), new Hold({ ...parts, exchangeId: "req_2" })];
  notes.take(hold, costing(1));
  notes.take(other, costing(7));
  notes.take(hold, costing(3));
  notes.take(hold, costing(2));
  expect(jest.getTimerCount()).toBe(1);
  pass(49);
  expect([journaled, hold.hasRow]).toEqual([[], false]);
  pass(1);
  expect([journaled, hold.hasRow]).toEqual([[[3, 7]], true]);
  expect(jest.getTimerCount()).toBe(0);
  notes.take(other, costing(7));
  expect(jest.getTimerCount()).toBe(0);
  notes.take(other, costing(8));
  pass(50);
  expect(journaled).toEqual([[3, 7], [8]]);
  expect(jest.getTimerCount()).toBe(0);
});

test("at any moment, a crash charges no more than was produced, and no less than 50 ms before", () => {
  const { notes, journaled, pass } = notesOf();
  const hold = new Hold(parts);
  for (let ms = 1; ms <= 1_000; ms += 1) {
    notes.take(hold, costing(ms));
    pass(1);
    const charged = journaled.at(-1)?.[0] ?? 0;
    expect(charged).toBeLessThanOrEqual(ms);
    expect(charged).toBeGreaterThanOrEqual(ms - 50);
  }
  expect(journaled).toHaveLength(1_000 / 50);
});

test("nothing is journaled when all that made progress has ended", () => {
  const { notes, journaled, pass } = notesOf();
  const hold = new Hold(parts);
  notes.take(hold, costing(1));
  hold.end("settled");
  pass(50);
  expect([journaled, hold.hasRow]).toEqual([[], false]);
  expect(jest.getTimerCount()).toBe(0);
});

test("what is journaled ahead of its tick is not journaled again", () => {
  const { notes, journaled, pass } = notesOf();
  notes.take(new Hold(parts), costing(1));
  notes.tell();
  pass(50);
  expect(journaled).toEqual([[1]]);
});
