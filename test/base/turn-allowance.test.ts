import { expect, test } from "bun:test";
import { nextTurn } from "../../src/base/next-turn.ts";
import { TurnAllowance } from "../../src/base/turn-allowance.ts";

test("so many fit into one turn of the event loop, and as many again into the next", async () => {
  const turns = new TurnAllowance(3);
  const takes = () => [1, 2, 3, 4, 5].map(() => turns.take());
  expect(takes()).toEqual([true, true, true, false, false]);
  await Promise.resolve();
  expect(turns.take()).toBe(false);
  await nextTurn();
  expect(takes()).toEqual([true, true, true, false, false]);
});
