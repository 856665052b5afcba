import { describe, expect, test } from "bun:test";
import { chosenRange, exactMoment, pastMoment } from "../../src/admin/moments.ts";

const nowMs = Date.UTC(2026, 10, 16, 13, 27, 31, 500);
const at = (text: string) => {
  const ms = pastMoment(text, nowMs);
  return ms === null ? null : new Date(ms).toISOString();
};

describe("a moment of the past", () => {
  test("is written as a duration, a word, a month, a date or a time", () => {
    expect(at("24h")).toBe("2026-11-15T13:28:00.000Z");
    expect(at("7d")).toBe("2026-11-09T13:28:00.000Z");
    expect(at("90m")).toBe("2026-11-16T11:58:00.000Z");
    expect(at("now")).toBe("2026-11-16T13:28:00.000Z");
    expect(at("today")).toBe("2026-11-16T00:00:00.000Z");
    expect(at("yesterday")).toBe("2026-11-15T00:00:00.000Z");
    expect(at("2026-10")).toBe("2026-10-01T00:00:00.000Z");
    expect(at("2026-10-31")).toBe("2026-10-31T00:00:00.000Z");
    expect(at("2026-10-31T15:04:05")).toBe("2026-10-31T15:04:00.000Z");
    expect(at("2026-10-31T15:04:05.123+02:00")).toBe("2026-10-31T13:04:00.000Z");
  });

  test("is exact to the millisecond for a deletion", () => {
    const exactly = (text: string) => new Date(exactMoment(text, nowMs) ?? Number.NaN).toISOString();
    expect(exactly("24h")).toBe("2026-11-15T13:27:31.500Z");
    expect(exactly("now")).toBe("2026-11-16T13:27:31.500Z");
    expect(exactly("yesterday")).toBe("2026-11-15T00:00:00.000Z");
    expect(exactly("2026-10-31T15:04:05.123+02:00")).toBe("2026-10-31T13:04:05.123Z");
    expect(exactMoment("last week", nowMs)).toBeNull();
  });

  test("is nothing else", () => {
    for (const text of ["", "last week", "7", "2026", "2026-13", "2026-1", "1e3d", "Yesterday", "-7d"]) {
      expect(at(text)).toBeNull();
    }
    for (const text of ["2026-02-30", "2026-04-31", "2026-02-29T10:00", "2026-11-00"])
      expect(at(text)).toBeNull();
    expect(at("2024-02-29")).toBe("2024-02-29T00:00:00.000Z");
    expect(at("999999w")).toBe("1970-01-01T00:00:00.000Z");
  });
});

describe("a range", () => {
  test("of a duration is exactly that long, and has what ends in the running minute", () => {
    const range = chosenRange(pastMoment("24h", nowMs) ?? 0, undefined, nowMs);
    expect(range).toEqual({
      sinceMs: Date.UTC(2026, 10, 15, 13, 28),
      untilMs: Date.UTC(2026, 10, 16, 13, 28),
    });
  });

  test("is the week before its end if it has no beginning", () => {
    const untilMs = Date.UTC(2026, 9, 8);
    expect(chosenRange(undefined, untilMs, nowMs)).toEqual({ sinceMs: Date.UTC(2026, 9, 1), untilMs });
  });

  test("that begins in the future is there, and has nothing in it yet", () => {
    const sinceMs = Date.UTC(2999, 0);
    expect(chosenRange(sinceMs, undefined, nowMs)).toEqual({ sinceMs, untilMs: sinceMs + 60_000 });
  });

  test("does not end before it begins", () => {
    expect(chosenRange(5, 5, nowMs)).toBeNull();
  });
});
