import { expect, test } from "bun:test";
import { TurnAllowance } from "../../../src/base/loop/allowance.ts";
import { nextTurn } from "../../../src/base/loop/next-iteration.ts";

test("so many fit into one turn of the event loop, and as many again into the next", async () => {
  const turns = new TurnAllowance(3);
  const takes = () => [1, 2, 3, 4, 5].map(() => turns.take());
  expect(takes()).toEqual([true, true, true, false, false]);
  await Promise.resolve();
  expect(turns.take()).toBe(false);
  await nextTurn();
  expect(takes()).toEqual([true, true, true, false, false]);
});

test("who has to wait goes on in the order of asking, as many in each turn as fit", async () => {
  // A long turn would let more of them go on.
  const turns = new TurnAllowance(2, () => 0);
  const done: string[] = [];
  const ask = async (name: string): Promise<void> => {
    while (!turns.take()) await turns.wait();
    done.push(name);
  };
  const asked = ["a", "b", "c", "d", "e"].map(ask);
  expect(done.join("")).toBe("ab");
  await nextTurn();
  expect(done.join("")).toBe("abcd");
  await Promise.all(asked);
  expect(done.join("")).toBe("abcde");
});
