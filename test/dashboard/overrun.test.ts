import { expect, test } from "bun:test";
import { overrunFacts } from "../../src/dashboard/page/overrun.ts";

test("what was not charged has a tile, where there is any", () => {
  expect(overrunFacts({ overrun: 0, overrun_tokens: 0 })).toEqual([]);
  expect(overrunFacts({ overrun: 1.25, overrun_tokens: 0 })).toEqual([
    ["Overrun", "1.25", "credits above limits, not charged"],
  ]);
  expect(overrunFacts({ overrun: 0, overrun_tokens: 50 })).toEqual([
    ["Overrun", "50", "tokens above limits, not charged"],
  ]);
  expect(overrunFacts({ overrun: 2, overrun_tokens: 50 })).toEqual([
    ["Overrun", "2.00", "credits above limits, not charged · 50 budget tokens"],
  ]);
});
