import type { Json } from "../../src/base/json.ts";
import type { SeededRandom } from "../support/random.ts";

/** Values of every type and at every edge, for fields that expect something else. */
export const strangeValues: readonly Json[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e300,
  -1e300,
  "",
  "x",
  "\u0000",
  "\ud800",
  "__proto__",
  "x".repeat(5000),
  [],
  {},
  [null],
  [[]],
  [{}],
  { type: "text" },
  { type: 5 },
];

/** The same value with some parts of it replaced, left out, doubled or added. */
export function mutateJson(value: Json, random: SeededRandom, probability: number): Json {
  if (random.chance(probability)) return structuredClone(random.pick(strangeValues.map((it) => ({ it }))).it);
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => {
      if (random.chance(probability)) return [];
      const mutated = mutateJson(item, random, probability);
      return random.chance(probability) ? [mutated, structuredClone(mutated)] : [mutated];
    });
    return items;
  }
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(() => !random.chance(probability));
  const entries = kept.map(([name, item]): [string, Json] => [
    name,
    mutateJson(item ?? null, random, probability),
  ]);
  if (random.chance(probability))
    entries.push([random.pick(["__proto__", "constructor", "", "usage", "error"]), null]);
  return Object.fromEntries(entries);
}

/** The same bytes with one wound: flipped, cut out, doubled, filled with noise, or ended early. */
export function mutateBytes(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const from = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, from + random.below(random.pick([2, 20, 400])));
  const head = bytes.slice(0, from);
  const cut = bytes.slice(from, to);
  const tail = bytes.slice(to);
  const noise = Uint8Array.from({ length: 1 + random.below(8) }, () => random.below(256));
  const structure = Buffer.from(
    random.pick(['"', "{", "}", "\n\n", "\r", "data: ", "\\", "[DONE]", "event: error\n", ":"]),
  );
  const middle = random.pick([[], [cut, cut], [noise], [cut, noise], [structure], [cut, structure], null]);
  return middle === null ? head : Buffer.concat([head, ...middle, tail]);
}
