import { describe, expect, test } from "bun:test";
import { matchesOf } from "../../src/dashboard/page/parts/combo-matches.ts";
import { barSteps, niceMarks } from "../../src/dashboard/page/parts/stacked-values.ts";
import { project } from "../../src/dashboard/page/projection.ts";

const dayMs = 86_400_000;

describe("a stacked chart", () => {
  test("puts each part on those below it, and a missing value is nothing", () => {
    const stacks = [{ values: [1, 2] }, { values: [3] }, { values: [5, 5] }];
    expect(barSteps(stacks, 2, [5, 5])).toEqual([
      { step: 0, from: 4, to: 9 },
      { step: 1, from: 2, to: 7 },
    ]);
  });

  test("has round marks that reach its highest value", () => {
    expect(niceMarks(0)).toEqual([0, 1]);
    expect(niceMarks(7.3)).toEqual([0, 2, 4, 6, 8]);
    expect(niceMarks(0.00031)).toEqual([0, 0.0001, 0.0002, 0.0003, 0.0004]);
    expect(niceMarks(10)).toEqual([0, 5, 10]);
  });
});

describe("a limit at its rate so far", () => {
  const month = { limit: 100, startMs: 0, endMs: 30 * dayMs };

  test("ends within its period, or on a day", () => {
    expect(project({ ...month, used: 20 }, 10 * dayMs)).toEqual({ atEnd: 60, usedUpMs: null });
    expect(project({ ...month, used: 50 }, 10 * dayMs)).toEqual({ atEnd: 150, usedUpMs: 20 * dayMs });
  });

  test("is used up now, or never", () => {
    expect(project({ ...month, used: 100 }, 10 * dayMs).usedUpMs).toBe(10 * dayMs);
    expect(project({ ...month, used: 0 }, 10 * dayMs)).toEqual({ atEnd: 0, usedUpMs: null });
    expect(project({ ...month, endMs: null, used: 50 }, 10 * dayMs)).toEqual({
      atEnd: null,
      usedUpMs: 20 * dayMs,
    });
  });
});

test("a search among many has the name itself first, then what begins with the text", () => {
  const choices = ["my-gpt-5", "gpt-5-mini", "gpt-5", "claude"].map((text) => ({ value: text, text }));
  expect(matchesOf(choices, "GPT-5").map(({ value }) => value)).toEqual(["gpt-5", "gpt-5-mini", "my-gpt-5"]);
});
