import { describe, expect, test } from "bun:test";
import { isObject, type Json } from "../../../src/base/json.ts";
import { dropLargestParts } from "../../../src/dialects/json/drop-largest-parts.ts";
import { hasTooManyValues, maxParsedValues } from "../../../src/dialects/json/json-bytes.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";

const shallow = (text: string, most: number) => dropLargestParts(Buffer.from(text), most);

/** Items and members at every level. */
function valuesIn(value: Json): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = isObject(value) ? Object.values(value) : value;
  return inner.reduce<number>((sum, item) => sum + 1 + valuesIn(item ?? null), 0);
}

/** Whether the one is the other with null in the place of some objects and lists. */
function isCutOf(left: Json, value: Json): boolean {
  if (typeof value !== "object" || value === null) return left === value;
  if (left === null) return true;
  if (Array.isArray(value))
    return (
      Array.isArray(left) &&
      left.length === value.length &&
      value.every((item, at) => isCutOf(left[at] ?? null, item))
    );
  const names = Object.keys(value);
  return (
    isObject(left) &&
    Object.keys(left).length === names.length &&
    names.every((name) => isCutOf(left[name] ?? null, value[name] ?? null))
  );
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

describe("JSON without its largest parts", () => {
  test("is the same but for null in the place of objects and lists, and has no more values than it may", () => {
    for (let seed = 1; seed <= 2000; seed += 1) {
      const random = seededRandom(seed);
      const value: Json = { type: "x", inner: randomValue(random, 5), more: randomValue(random, 3) };
      const text = JSON.stringify(value, null, random.pick([0, 2]));
      const most = random.below(60);
      const cut = shallow(text, most);
      expect(cut === null, `seed ${seed}`).toBe(most < 3);
      if (cut === null) continue;
      const left: Json = JSON.parse(cut);
      expect(isCutOf(left, value), `seed ${seed}`).toBe(true);
      expect(valuesIn(left), `seed ${seed}`).toBeLessThanOrEqual(most);
      if (valuesIn(value) <= most) expect(cut, `seed ${seed}`).toBe(text);
    }
  });

  test("keeps what is small, and of what is large as many levels as it may", () => {
    const text = '{"a":{"b":1},"c":{"d":[[1,2],[3,4],[5,6,7]]}}';
    expect(shallow(text, 14)).toBe(text);
    expect(shallow(text, 13)).toBe('{"a":{"b":1},"c":{"d":[[1,2],[3,4],null]}}');
    expect(shallow(text, 10)).toBe('{"a":{"b":1},"c":{"d":[null,null,null]}}');
    expect(shallow(text, 6)).toBe('{"a":{"b":1},"c":{"d":null}}');
    expect(shallow(text, 4)).toBe('{"a":{"b":1},"c":{"d":null}}');
    expect(shallow(text, 2)).toBe('{"a":null,"c":null}');
    expect(shallow(text, 1)).toBeNull();
  });

  test("is none if a text does not end, or has neither an object nor a list", () => {
    expect(shallow('{"a":"', 100)).toBeNull();
    expect(shallow('{"a":1', 100)).toBeNull();
    expect(shallow("7", 100)).toBeNull();
  });

  test("keeps nothing that is nested too deeply to be read", () => {
    const deep = `${'{"a":'.repeat(5000)}[1,2]${"}".repeat(5000)}`;
    expect(shallow(deep, 100)).toBe(`${'{"a":'.repeat(16)}null${"}".repeat(16)}`);
  });
});

describe("too many values", () => {
  test("are those of lists and objects together, and not what stands in a text", () => {
    const most = "1,".repeat(maxParsedValues - 2);
    expect(hasTooManyValues(`[${most}1]${" ".repeat(100)}`)).toBe(false);
    expect(hasTooManyValues(`{"a":[${most}1]${" ".repeat(100)}}`)).toBe(false);
    expect(hasTooManyValues(`{"a":[${most}1,1]${" ".repeat(100)}}`)).toBe(true);
    expect(hasTooManyValues(JSON.stringify({ a: most + most }))).toBe(false);
  });
});
