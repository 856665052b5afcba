import { edenGC, fullGC, heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { Bag, ChurnMap } from "../../../src/base/collections/churn-map.ts";

test("a churn map has what was set and not deleted, in the order in which it was set", () => {
  const map = new ChurnMap<number, string>();
  for (let key = 0; key < 1_000; key += 1) {
    map.set(key, `value ${key}`);
    if (key >= 3) expect(map.delete(key - 3)).toBe(true);
  }
  expect([map.size, map.delete(0), map.get(0), map.get(998)]).toEqual([3, false, undefined, "value 998"]);
  expect(map.getOrInsertComputed(997, String)).toBe("value 997");
  expect(map.getOrInsertComputed(1_000, String)).toBe("1000");
  expect([...map.keys()]).toEqual([997, 998, 999, 1_000]);
  expect([...map.values()]).toEqual(["value 997", "value 998", "value 999", "1000"]);
});

test("what was deleted is gone with the next collection of young objects", () => {
  const arrays = () => heapStats().objectTypeCounts["Float64Array"] ?? 0;
  const map = new ChurnMap<number, Float64Array>();
  let next = 0;
  const pass = (count: number) => {
    for (const end = next + count; next < end; next += 1) {
      map.set(next, new Float64Array(1));
      map.delete(next - 32);
    }
  };
  pass(1_000);
  fullGC();
  const before = arrays();
  for (let round = 0; round < 5; round += 1) {
    pass(2_000);
    edenGC();
  }
  expect(arrays() - before).toBeLessThan(700);
});

test("a bag has what was added and not deleted", () => {
  const bag = new Bag<string>();
  for (const each of ["a", "b", "c", "b"]) bag.add(each);
  expect([bag.delete("b"), bag.delete("b"), bag.delete("nobody's")]).toEqual([true, false, false]);
  expect([bag.size, ...bag]).toEqual([2, "a", "c"]);
});

test("a bag can be filled and emptied while it is gone through", () => {
  const bag = new Bag<number>();
  for (let each = 0; each < 20; each += 1) bag.add(each);
  const seen: number[] = [];
  for (const each of bag) {
    bag.delete(each);
    bag.add(each + 100);
    seen.push(each);
  }
  expect(seen).toEqual(Array.from({ length: 20 }, (_, each) => each));
  expect([bag.size, Math.min(...bag)]).toEqual([20, 100]);
});
