import { describe, expect, test } from "bun:test";
import { retryAfterMs } from "../../../src/vendors/http/retry-after.ts";

describe("Retry-After", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  const rows: [Record<string, string>, number | null][] = [
    [{}, null],
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT" }, 30_000],
    [{ "retry-after": "Sun, 15 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after": "-5" }, null],
    [{ "retry-after": "" }, null],
  ];
  for (const [headers, expected] of rows) {
    test(`${JSON.stringify(headers)} is ${expected}`, () => {
      expect(retryAfterMs(new Headers(headers), now)).toBe(expected);
    });
  }
});
