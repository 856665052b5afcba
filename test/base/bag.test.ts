import { edenGC, fullGC, heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { Bag, outside } from "../../src/base/bag.ts";

const item = (name: string) => ({ name, place: outside });

test("a bag has what was added and not deleted, in any order", () => {
  const bag = new Bag<ReturnType<typeof item>>();
  const [a, b, c, d] = [item("a"), item("b"), item("c"), item("d")];
  for (const each of [a, b, c, d]) bag.add(each);
  expect(bag.delete(b)).toBe(true);
  expect(bag.delete(d)).toBe(true);
  expect([bag.has(a), bag.has(b), bag.size]).toEqual([true, false, 2]);
  expect(Array.from(bag, ({ name }) => name).sort()).toEqual(["a", "c"]);
  bag.add(b);
  expect(Array.from(bag, ({ name }) => name).sort()).toEqual(["a", "b", "c"]);
});

test("a bag deletes only what is in it", () => {
  const [bag, other] = [new Bag<ReturnType<typeof item>>(), new Bag<ReturnType<typeof item>>()];
  const [mine, theirs] = [item("mine"), item("theirs")];
  bag.add(mine);
  other.add(theirs);
  expect([bag.delete(theirs), bag.delete(item("nobody's"))]).toEqual([false, false]);
  expect([bag.delete(mine), bag.delete(mine), bag.size, other.size]).toEqual([true, false, 0, 1]);
});

test("a bag can be emptied while it is gone through", () => {
  const bag = new Bag<ReturnType<typeof item>>();
  for (const name of ["a", "b", "c"]) bag.add(item(name));
  const seen: string[] = [];
  for (const each of bag) {
    bag.delete(each);
    seen.push(each.name);
  }
  expect([seen, bag.size]).toEqual([["a", "b", "c"], 0]);
});

test("what has left a bag is gone with the next collection of young objects", () => {
  const bag = new Bag<{ readonly marker: Float32Array; place: number }>();
  const inside: { readonly marker: Float32Array; place: number }[] = [];
  const pass = (count: number) => {
    for (let each = 0; each < count; each += 1) {
      const passing = { marker: new Float32Array(1), place: outside };
      bag.add(passing);
      inside.push(passing);
      const oldest = inside.length > 32 ? inside.shift() : undefined;
      if (oldest !== undefined) bag.delete(oldest);
    }
  };
  pass(1_000);
  fullGC();
  for (let round = 0; round < 5; round += 1) {
    pass(2_000);
    edenGC();
  }
  expect(heapStats().objectTypeCounts["Float32Array"]).toBeLessThan(500);
});
