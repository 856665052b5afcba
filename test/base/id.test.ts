import { expect, test } from "bun:test";
import { newId } from "../../src/base/id.ts";

test("an id is its prefix and 22 uniform base62 characters", () => {
  const count = 20_000;
  const ids = Array.from({ length: count }, () => newId("req_"));
  expect(new Set(ids).size).toBe(count);
  expect(ids.filter((id) => !/^req_[0-9A-Za-z]{22}$/.test(id))).toEqual([]);
  const counts = new Map<string, number>();
  for (const id of ids)
    for (const character of id.slice(4)) counts.set(character, (counts.get(character) ?? 0) + 1);
  expect(counts.size).toBe(62);
  const expected = (count * 22) / 62;
  const chiSquare = counts.values().reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
  // With 61 degrees of freedom, above 145 once in a hundred million.
  expect(chiSquare).toBeLessThan(145);
});
