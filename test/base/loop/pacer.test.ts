import { expect, test } from "bun:test";
import { nextTurn } from "../../../src/base/loop/next-iteration.ts";
import { TurnPacer } from "../../../src/base/loop/pacer.ts";

/** Five callers that each take this long; how many have gone on after each turn, and in which order. */
async function pace(pacer: TurnPacer, stepMs: number): Promise<{ goneOn: number[]; perTurn: number[] }> {
  const goneOn: number[] = [];
  const call = async (caller: number) => {
    await pacer.turn();
    goneOn.push(caller);
    for (const endMs = performance.now() + stepMs; performance.now() < endMs; );
  };
  for (let caller = 0; caller < 5; caller += 1) void call(caller);
  const counts = [0];
  for (let turn = 0; turn < 50 && goneOn.length < 5; turn += 1) {
    await nextTurn();
    counts.push(goneOn.length);
  }
  return { goneOn, perTurn: counts.slice(1).map((count, turn) => count - (counts[turn] ?? 0)) };
}

test("each caller goes on in a turn of its own, in the order of the calls", async () => {
  const { goneOn, perTurn } = await pace(new TurnPacer(), 0);
  expect(goneOn).toEqual([0, 1, 2, 3, 4]);
  expect(Math.max(...perTurn)).toBe(1);
});

test("with a budget, callers share a turn until it is spent", async () => {
  const quick = await pace(new TurnPacer(10_000), 0);
  expect(quick.goneOn).toEqual([0, 1, 2, 3, 4]);
  expect(Math.max(...quick.perTurn)).toBe(5);
  const slow = await pace(new TurnPacer(2), 4);
  expect(slow.goneOn).toEqual([0, 1, 2, 3, 4]);
  expect(Math.max(...slow.perTurn)).toBe(1);
});
