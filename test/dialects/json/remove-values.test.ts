import { describe, expect, test } from "bun:test";
import type { Json } from "../../../src/base/json.ts";
import { removeValues, type ValuePath } from "../../../src/dialects/json/remove-values.ts";

function removed(text: string, ...paths: ValuePath[]): string {
  return Buffer.from(removeValues(Buffer.from(text), paths)).toString();
}

describe("a value that is removed", () => {
  test("leaves every other byte as it is", () => {
    const text = ' { "a" : [ 1.0 , {"b":2,"c" :3} , "x]," ] , "d" : 1e2 }';
    expect(removed(text, ["a", 0])).toBe(' { "a" : [  {"b":2,"c" :3} , "x]," ] , "d" : 1e2 }');
    expect(removed(text, ["a", 2])).toBe(' { "a" : [ 1.0 , {"b":2,"c" :3}  ] , "d" : 1e2 }');
    expect(removed(text, ["a", 1, "b"])).toBe(' { "a" : [ 1.0 , {"c" :3} , "x]," ] , "d" : 1e2 }');
    expect(removed(text, ["a"])).toBe(' {  "d" : 1e2 }');
  });

  test("may be found by a name that is written with escapes", () => {
    expect(removed('{"\\u0061":1,"b":2}', ["a"])).toBe('{"b":2}');
  });

  test("that is not there changes nothing", () => {
    const text = '{"a":[1],"b":{}}';
    expect(removed(text, ["c"], ["a", 1], ["a", 0, "x"], ["b", "x"], ["b", 0])).toBe(text);
  });
});

test("whichever values are removed, the rest is what remains of the parsed JSON", () => {
  const items = ["a", { b: [1, 2], c: null }, [], [[3]], {}];
  const value = { first: items, last: "x" };
  for (const text of [JSON.stringify(value), JSON.stringify(value, null, 1)]) {
    for (let mask = 0; mask < 1 << items.length; mask += 1) {
      const gone = items.flatMap((_, index) => ((mask >> index) & 1 ? index : []));
      const kept: Json = { first: items.filter((_, index) => !gone.includes(index)), last: "x" };
      expect(JSON.parse(removed(text, ...gone.map((index) => ["first", index])))).toEqual(kept);
    }
  }
});
