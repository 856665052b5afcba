import { edenGC, fullGC, heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { ChurnMap } from "../../src/base/churn-map.ts";

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
