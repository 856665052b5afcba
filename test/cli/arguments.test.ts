import { describe, expect, test } from "bun:test";
import * as read from "../../src/cli/arguments.ts";

const now = Date.UTC(2026, 0, 15, 12);

describe("what people type", () => {
  test("durations", () => {
    expect(["90s", "30m", "12h", "7d", "2w"].map(read.duration)).toEqual([
      90_000, 1_800_000, 43_200_000, 604_800_000, 1_209_600_000,
    ]);
    for (const text of ["7", "d", "7 d", "-7d", "7y", "1.5h", ""])
      expect(() => read.duration(text)).toThrow();
  });

  test("an expiry is a duration from now or a date, read as UTC", () => {
    expect(read.expiry("1d", now)).toBe(now + 86_400_000);
    expect(read.expiry("2026-02-01", now)).toBe(Date.UTC(2026, 1, 1));
    expect(read.expiry("2026-02-01T10:30", now)).toBe(Date.UTC(2026, 1, 1, 10, 30));
    expect(read.expiry("2026-02-01T10:30:00+02:00", now)).toBe(Date.UTC(2026, 1, 1, 8, 30));
    for (const text of ["2026-01-15", "2026-13-01", "tomorrow", "01/02/2027"]) {
      expect(() => read.expiry(text, now)).toThrow();
    }
  });

  test("a beginning lies a duration back or at a date", () => {
    // The running minute is part of it.
    expect(read.since("7d", now)).toBe(now + 60_000 - 7 * 86_400_000);
    expect(read.since("2026-01-01", now)).toBe(Date.UTC(2026, 0, 1));
    expect(() => read.since("last week", now)).toThrow();
  });

  test("credits are exact to nine decimals", () => {
    expect(["5", "0.25", "0.000000001", "4000000"].map(read.creditAmount)).toEqual([
      5_000_000_000, 250_000_000, 1, 4_000_000_000_000_000,
    ]);
    for (const text of ["-1", "1e3", "0.0000000001", "4000001", "", "Infinity"]) {
      expect(() => read.creditAmount(text)).toThrow();
    }
    expect(() => read.positiveCreditAmount("0")).toThrow("above 0");
    for (const text of ["3999999.999999999", "1234567.123456789", "0.123456789", "2097152.000000001"]) {
      expect(read.creditAmount(text)).toBe(Number(text.replace(".", "")));
    }
  });

  test("whole numbers may have their digits grouped", () => {
    expect(["1000000", "1_000_000", "1,000,000"].map(read.atLeastOne)).toEqual([1e6, 1e6, 1e6]);
    for (const text of ["0", "1.5", "x", "", "9999999999999999"])
      expect(() => read.atLeastOne(text)).toThrow();
  });

  test("ports", () => {
    expect(["0", "8787", "65535"].map(read.port)).toEqual([0, 8787, 65_535]);
    for (const text of ["65536", "-1", "http"]) expect(() => read.port(text)).toThrow();
  });
});
