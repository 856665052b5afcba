import { expect, test } from "bun:test";
import { FairQueue } from "../../../src/base/collections/fair-queue.ts";

function all(queue: FairQueue<string>): string[] {
  const items: string[] = [];
  for (let item = queue.next(); item !== undefined; item = queue.next()) items.push(item);
  return items;
}

test("owners take turns, each with its items in their order", () => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.add(item.charAt(0), item);
  expect(all(queue)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
  expect(queue.next()).toBeUndefined();
});

test("one who has just had a turn is behind one who comes anew", () => {
  const queue = new FairQueue<string>();
  queue.add("a", "a1");
  queue.add("a", "a2");
  expect(queue.next()).toBe("a1");
  queue.add("b", "b1");
  queue.add("a", "a3");
  expect(all(queue)).toEqual(["b1", "a2", "a3"]);
});

test("a new owner waits for what has been taken alone, however many another has added", () => {
  const queue = new FairQueue<string>();
  for (let item = 1; item <= 8; item += 1) queue.add("a", `a${item}`);
  expect(queue.next()).toBe("a1");
  queue.add("b", "b1");
  expect(queue.next()).toBe("b1");
  queue.add("b", "b2");
  expect(all(queue).slice(0, 3)).toEqual(["a2", "b2", "a3"]);
});

test("what is removed has no turn, and the rest keeps its order", () => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "b1", "c1"]) queue.add(item.charAt(0), item);
  expect(queue.remove((item) => item === "a1" || item === "b1")).toEqual(["a1", "b1"]);
  expect(all(queue)).toEqual(["a2", "c1"]);
});
