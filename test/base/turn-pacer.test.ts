import { expect, test } from "bun:test";
import { nextTurn } from "../../src/base/next-turn.ts";
import { TurnPacer } from "../../src/base/turn-pacer.ts";

test("each caller goes on in a turn of its own, in the order of the calls", async () => {
  const pacer = new TurnPacer();
  const goneOn: number[] = [];
  for (let caller = 0; caller < 5; caller += 1) void pacer.turn().then(() => goneOn.push(caller));
  const counts: number[] = [];
  for (let turn = 0; turn < 50 && goneOn.length < 5; turn += 1) {
    await nextTurn();
    counts.push(goneOn.length);
  }
  expect(goneOn).toEqual([0, 1, 2, 3, 4]);
  for (const [turn, count] of counts.entries())
    expect(count - (counts[turn - 1] ?? 0)).toBeLessThanOrEqual(1);
});
