import { expect, test } from "bun:test";
import { Repeating } from "../../../src/base/loop/repeating.ts";

/** Resolves when the work has been done three times. */
function thrice(repeating: Repeating, work: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let times = 0;
  repeating.start(1, () => {
    work();
    times += 1;
    if (times === 3) resolve();
  });
  return promise;
}

test("work is repeated until it is stopped, and a second start changes nothing", async () => {
  const repeating = new Repeating();
  const other = new Repeating();
  const done: string[] = [];
  const isDone = thrice(repeating, () => done.push("first"));
  repeating.start(1, () => done.push("second"));
  await isDone;
  repeating.stop();
  repeating.stop();
  const { length } = done;
  await thrice(other, () => {});
  other.stop();
  expect(done).toEqual(Array(length).fill("first"));
});

test("work that takes long is not begun again meanwhile, and a stop waits for it", async () => {
  const repeating = new Repeating();
  const other = new Repeating();
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let [begins, ends] = [0, 0];
  repeating.start(1, async () => {
    begins += 1;
    begun.resolve();
    await release.promise;
    ends += 1;
  });
  await begun.promise;
  await thrice(other, () => {});
  await other.stop();
  expect([begins, ends]).toEqual([1, 0]);
  const stopped = repeating.stop();
  release.resolve();
  await stopped;
  expect([begins, ends]).toEqual([1, 1]);
});
