import { describe, expect, test } from "bun:test";
import { isObject, type Json } from "../../../src/base/json.ts";
import { hasTooManyValues, mostParsedValues } from "../../../src/dialects/json/count-values.ts";
import { shallowJson } from "../../../src/dialects/json/shallow-json.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";

const shallow = (text: string, most: number) => shallowJson(Buffer.from(text), most);

/** The same by the parsed value. */
function withoutDeeper(value: Json, levels: number): Json {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return null;
  if (Array.isArray(value)) return value.map((item) => withoutDeeper(item, levels - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withoutDeeper(inner ?? null, levels - 1)]),
  );
}

function depthOf(value: Json): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = isObject(value) ? Object.values(value) : value;
  return 1 + Math.max(0, ...inner.map((item) => depthOf(item ?? null)));
}

const strings = ["", "a", '"', "\\", '\\"', "[", "}", ",", "[[],", "Grüße, 世界", "\n"];

function randomValue(random: SeededRandom, levels: number): Json {
  const count = random.below(4);
  if (levels === 0 || random.chance(0.2))
    return random.pick<Json>([null, true, -1.5e3, random.pick(strings)]);
  if (random.chance(0.5)) return Array.from({ length: count }, () => randomValue(random, levels - 1));
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `${random.pick(strings)}${index}`,
      randomValue(random, levels - 1),
    ]),
  );
}

describe("JSON without what is nested deeply", () => {
  test("is the same to some depth, and null below it", () => {
    for (let seed = 1; seed <= 2000; seed += 1) {
      const random = seededRandom(seed);
      const value: Json = { type: "x", inner: randomValue(random, 5) };
      const text = JSON.stringify(value, null, random.pick([0, 2]));
      const cut = shallow(text, random.below(60));
      if (cut === null) continue;
      const left: Json = JSON.parse(cut);
      const levels = depthOf(left);
      const expected = [levels, levels + 1].map((depth) => withoutDeeper(value, depth));
      expect(expected, `seed ${seed}`).toContainEqual(left);
      expect(levels, `seed ${seed}`).toBeGreaterThanOrEqual(Math.min(2, depthOf(value)));
    }
  });

  test("keeps as many levels as have few enough values", () => {
    const text = '{"a":1,"b":{"c":[1,2,{"d":[3,4,5]}]}}';
    expect(shallow(text, 100)).toBe(text);
    // Two members, one member, three items, one member, three items.
    expect(shallow(text, 10)).toBe(text);
    expect(shallow(text, 9)).toBe('{"a":1,"b":{"c":[1,2,{"d":null}]}}');
    expect(shallow(text, 6)).toBe('{"a":1,"b":{"c":[1,2,null]}}');
    expect(shallow(text, 3)).toBe('{"a":1,"b":{"c":null}}');
  });

  test("is none if only the outermost level is left, or if a text does not end", () => {
    expect(shallow('{"a":1,"b":{"c":[]}}', 2)).toBeNull();
    expect(shallow('{"a":1,"b":{"c":[]}}', 1)).toBeNull();
    expect(shallow('{"a":"', 100)).toBeNull();
  });
});

describe("too many values", () => {
  test("are those of lists and objects together, and not what stands in a text", () => {
    const most = "1,".repeat(mostParsedValues - 2);
    expect(hasTooManyValues(`[${most}1]${" ".repeat(100)}`)).toBe(false);
    expect(hasTooManyValues(`{"a":[${most}1]${" ".repeat(100)}}`)).toBe(false);
    expect(hasTooManyValues(`{"a":[${most}1,1]${" ".repeat(100)}}`)).toBe(true);
    expect(hasTooManyValues(JSON.stringify({ a: most + most }))).toBe(false);
  });
});
