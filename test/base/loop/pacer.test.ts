import { expect, test } from "bun:test";
import { LoopPacer, nextLoopIteration } from "../../../src/base/loop/pacer.ts";

/** Five callers that each take this long, after so many awaits; how many have gone on after each turn, and in which order. */
async function pace(
  pacer: LoopPacer,
  stepMs: number,
  awaits = 0,
): Promise<{ goneOn: number[]; perTurn: number[] }> {
  const goneOn: number[] = [];
  const call = async (caller: number) => {
    await pacer.wait();
    for (let count = 0; count < awaits; count += 1) await null;
    goneOn.push(caller);
    for (const endMs = performance.now() + stepMs; performance.now() < endMs; );
  };
  for (let caller = 0; caller < 5; caller += 1) void call(caller);
  const counts = [0];
  for (let turn = 0; turn < 50 && goneOn.length < 5; turn += 1) {
    await nextLoopIteration();
    counts.push(goneOn.length);
  }
  return { goneOn, perTurn: counts.slice(1).map((count, turn) => count - (counts[turn] ?? 0)) };
}

test("each caller goes on in a turn of its own, in the order of the calls", async () => {
  const { goneOn, perTurn } = await pace(new LoopPacer(), 0);
  expect(goneOn).toEqual([0, 1, 2, 3, 4]);
  expect(Math.max(...perTurn)).toBe(1);
});

test("with a budget, callers share a turn until it is spent", async () => {
  const quick = await pace(new LoopPacer({ budgetMs: 10_000 }), 0);
  expect(quick.goneOn).toEqual([0, 1, 2, 3, 4]);
  expect(Math.max(...quick.perTurn)).toBe(5);
  const slow = await pace(new LoopPacer({ budgetMs: 2 }), 4);
  expect(slow.goneOn).toEqual([0, 1, 2, 3, 4]);
  expect(Math.max(...slow.perTurn)).toBe(1);
});

test("what a caller does counts toward the budget, even if it awaits something first", async () => {
  const { goneOn, perTurn } = await pace(new LoopPacer({ budgetMs: 2 }), 4, 10);
  expect(goneOn).toEqual([0, 1, 2, 3, 4]);
  expect(Math.max(...perTurn)).toBe(1);
});

test("a few need not wait in an iteration, and as many again in the next", async () => {
  const pacer = new LoopPacer({ free: 3 });
  const takes = () => [1, 2, 3, 4, 5].map(() => pacer.take());
  expect(takes()).toEqual([true, true, true, false, false]);
  await Promise.resolve();
  expect(pacer.take()).toBe(false);
  await nextLoopIteration();
  expect(takes()).toEqual([true, true, true, false, false]);
});

test("nobody overtakes those that wait", async () => {
  const pacer = new LoopPacer({ free: 2 });
  const done: string[] = [];
  const call = async (name: string): Promise<void> => {
    if (!pacer.take()) await pacer.wait();
    done.push(name);
  };
  const early = ["a", "b", "c", "d"].map(call);
  await nextLoopIteration();
  const late = ["e", "f"].map(call);
  await Promise.all([...early, ...late]);
  expect(done.join("")).toBe("abcdef");
});

test("no more of those that wait go on in one iteration than are free, unless it took long", async () => {
  const pacer = new LoopPacer({ free: 1, budgetMs: 10_000 });
  let goneOn = 0;
  const call = async () => {
    await pacer.wait();
    goneOn += 1;
  };
  const calls = Array.from({ length: 20 }, call);
  // The iteration in which they began to wait.
  for (const endMs = performance.now() + 10; performance.now() < endMs; );
  await nextLoopIteration();
  await nextLoopIteration();
  const afterLong = goneOn;
  await Promise.all(calls);
  expect(afterLong).toBeGreaterThanOrEqual(10);
  const spread = Array.from({ length: 3 }, call);
  await nextLoopIteration();
  expect(goneOn).toBeLessThan(23);
  await Promise.all(spread);
});
