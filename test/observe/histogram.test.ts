import { describe, expect, test } from "bun:test";
import { quantileMs } from "../../src/observe/histogram.ts";

describe("a quantile read from bands", () => {
  test("lies inside the band that holds it", () => {
    const bands = [
      { upToMs: 100, requests: 50 },
      { upToMs: 200, requests: 50 },
    ];
    expect(quantileMs(0.5, bands)).toBe(100);
    expect(quantileMs(0.75, bands)).toBe(150);
  });

  test("is unknown without requests", () => {
    expect(quantileMs(0.5, [])).toBeNull();
  });

  test("in the open band is at least its beginning", () => {
    expect(quantileMs(0.95, [{ upToMs: Number.MAX_SAFE_INTEGER, requests: 3 }])).toBe(300_000);
  });
});
