import type { Json, JsonObject } from "../../../src/base/json.ts";
import type { SeededRandom } from "../../support/random.ts";

const oddTexts = [
  "",
  "\u0000",
  "\ud800",
  "\udfff\ud800",
  "__proto__",
  "constructor",
  "data: [DONE]",
  "<|endoftext|>",
  "\r\n\r\n",
  "é😀".repeat(50),
  " ".repeat(3000),
  "../../etc/passwd",
  "%00%2f%2e",
  "tool_use",
  "[DONE]",
];
const oddValues: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  -0,
  2 ** 60,
  [],
  {},
  [null],
  [[]],
  [{}],
  { type: "text" },
  { type: "tool_use" },
  { role: "user", content: "x" },
];

export function oddValue(random: SeededRandom): Json {
  return random.chance(0.4) ? random.pick(oddTexts) : random.pick(oddValues);
}

/** Here and there a value is replaced by another, lost, doubled, renamed or wrapped. */
export function damagedJson(value: Json, random: SeededRandom, rate: number): Json {
  if (random.chance(rate)) return oddValue(random);
  if (Array.isArray(value)) {
    return value.flatMap((entry) => {
      if (random.chance(rate)) return [];
      const next = damagedJson(entry, random, rate);
      return random.chance(rate) ? [next, next] : [next];
    });
  }
  if (value === null || typeof value !== "object") return random.chance(rate) ? [value] : value;
  const object: JsonObject = {};
  for (const [name, entry] of Object.entries(value)) {
    if (random.chance(rate) || entry === undefined) continue;
    const kept = random.chance(rate) ? random.pick(oddTexts) : name;
    Object.defineProperty(object, kept, {
      value: damagedJson(entry, random, rate),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

const bits = [0, 1, 9, 10, 13, 32, 34, 44, 58, 91, 92, 93, 123, 125, 127, 128, 192, 237, 255];

/** Bytes flipped, cut out, doubled or put in: what no serializer would write. */
export function damagedBytes(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  let damaged = Buffer.from(bytes);
  const times = 1 + random.below(4);
  for (let time = 0; time < times; time += 1) {
    const at = random.below(damaged.length + 1);
    const length = random.below(12);
    const kind = random.below(5);
    if (kind === 0 && at < damaged.length) damaged[at] = random.pick(bits);
    else if (kind === 1) damaged = Buffer.concat([damaged.subarray(0, at), damaged.subarray(at + length)]);
    else if (kind === 2) damaged = Buffer.concat([damaged.subarray(0, at + length), damaged.subarray(at)]);
    else if (kind === 3) {
      const put = Buffer.from(Array.from({ length }, () => random.pick(bits)));
      damaged = Buffer.concat([damaged.subarray(0, at), put, damaged.subarray(at)]);
    } else damaged = damaged.subarray(0, at);
  }
  return damaged;
}
