import { expect, test } from "bun:test";
import type { IrEvent } from "../../../src/dialects/ir/ir.ts";
import { EventRestorer } from "../../../src/dialects/translation/stream-translator.ts";

/** How many blocks of an answer pass, and what ends it. */
function passed(count: number): [number, string] {
  let starts = 0;
  const emit = ({ type }: IrEvent): void => {
    if (type === "block_start") starts += 1;
  };
  const restorer = new EventRestorer({ names: null, formatTool: null, callId: (id) => id }, emit);
  try {
    for (let index = 0; index < count; index += 1) {
      restorer.push({ type: "block_start", index, block: { type: "text" } });
    }
  } catch (error) {
    return [starts, String(error)];
  }
  return [starts, "nothing"];
}

test("a translated stream has two thousand blocks at most, since one with more would hold up all others at its end", () => {
  expect(passed(2000)).toEqual([2000, "nothing"]);
  const [starts, end] = passed(2001);
  expect(starts).toBe(2000);
  expect(end).toContain("more than 2000 blocks");
});
