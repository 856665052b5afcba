import { expect, test } from "bun:test";
import { AnyNeedle } from "../../src/content/any-needle.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";

const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

/** Of few letters, so that needles are found often, and nearly found more often. */
function letters(random: SeededRandom, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => 0x61 + random.below(3)));
}

test(`finds any needle, wherever it is, and nothing else (SEED=${seed})`, () => {
  const random = seededRandom(seed);
  const counts = { found: 0, absent: 0 };
  for (let run = 0; run < 3_000; run += 1) {
    const needles = Array.from({ length: random.below(5) }, () => letters(random, 3 + random.below(8)));
    const bytes = letters(random, random.below(60));
    const from = random.below(10);
    const isThere = needles.some((needle) => bytes.includes(needle, from));
    expect(new AnyNeedle(needles).isIn(bytes, from), `run ${run}`).toBe(isThere);
    counts[isThere ? "found" : "absent"] += 1;
  }
  expect(Math.min(counts.found, counts.absent)).toBeGreaterThan(300);
});

test("finds needles that are longer than any shift, and tells bytes of the same hash apart", () => {
  const long = Buffer.alloc(1_000, "0123456789abcdef");
  const found = (text: Buffer | string) => new AnyNeedle([long]).isIn(Buffer.from(text), 0);
  expect(found(Buffer.concat([Buffer.alloc(5_000, "x"), long, Buffer.from("y")]))).toBe(true);
  expect(found(Buffer.concat([Buffer.alloc(5_000, "x"), long.subarray(0, 999), Buffer.from("y")]))).toBe(
    false,
  );
  // These have the same hash, because 1 << 10 is 32 << 5.
  const twin = Buffer.from([0x61 ^ 1, 0x41 ^ 32, 0x61]);
  expect(new AnyNeedle([Buffer.from("aAa")]).isIn(twin, 0)).toBe(false);
  expect(new AnyNeedle([Buffer.from("aAa"), twin]).isIn(twin, 0)).toBe(true);
});
