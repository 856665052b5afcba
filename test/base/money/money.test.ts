import { expect, test } from "bun:test";
import { creditsFromNano, usdFromNano } from "../../../src/base/money/money.ts";

test("credits are the nearest double of the exact amount, whichever type it comes in", () => {
  const amounts: readonly (readonly [bigint, number])[] = [
    [4_999_800_000n, 4.9998],
    [-4_999_800_000n, -4.9998],
    [0n, 0],
    [1n, 1e-9],
    [8_999_999_999_999_999n, Number("8999999.999999999")],
    [90_071_992_547_409_930_000_000_001n, 90_071_992_547_409_940],
  ];
  for (const [nano, credits] of amounts) {
    expect(creditsFromNano(nano)).toBe(credits);
    if (Number.isSafeInteger(Number(nano))) expect(creditsFromNano(Number(nano))).toBe(credits);
  }
});

test("dollars are rounded once", () => {
  expect(usdFromNano(4_999_800_000, 1_100_000)).toBe(5.49978);
  expect(usdFromNano(100_000_000, 3_000_000)).toBe(0.3);
  expect(usdFromNano(1_234_567_891, 333_333)).toBe(0.411522218);
  expect(usdFromNano(1, 333_333)).toBe(0);
});
