import { describe, expect, test } from "bun:test";
import { quantileMs } from "../../src/admin/reports/overview.ts";

describe("a quantile read from buckets", () => {
  test("lies inside the bucket that holds it", () => {
    const buckets = [
      { upToMs: 100, requests: 50 },
      { upToMs: 200, requests: 50 },
    ];
    expect(quantileMs(0.5, buckets)).toBe(100);
    expect(quantileMs(0.75, buckets)).toBe(150);
  });

  test("is unknown without requests", () => {
    expect(quantileMs(0.5, [])).toBeNull();
  });

  test("in the open-ended bucket is at least its beginning", () => {
    expect(quantileMs(0.95, [{ upToMs: Number.MAX_SAFE_INTEGER, requests: 3 }])).toBe(300_000);
  });
});
