import { expect, test } from "bun:test";
import { BlockOrder } from "../../../src/dialects/ir/blocks.ts";
import { EventCollector } from "../../../src/dialects/ir/events.ts";
import type { IrEvent } from "../../../src/dialects/ir/ir.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";

const finish: IrEvent = {
  type: "finish",
  finish: { reason: "tool_calls", stopSequence: null, explanation: null },
};

/** A stream of up to six calls whose events come in any order that a provider could choose. */
function interleaved(random: SeededRandom): IrEvent[] {
  const blocks = Array.from({ length: 1 + random.below(6) }, (_, index): IrEvent[] => [
    {
      type: "block_start",
      index,
      block: { type: "tool_call", id: `call_${index}`, kind: "function", namespace: null, name: "look" },
    },
    ...Array.from({ length: random.below(5) }, (_unused, at): IrEvent => {
      return { type: "delta", index, text: `${index}.${at};` };
    }),
    { type: "block_end", index, signature: null },
  ]);
  const events: IrEvent[] = [{ type: "start", usage: null }];
  let begun = 0;
  while (blocks.some((block) => block.length > 0)) {
    // Blocks begin in the order of their numbers.
    const ready = blocks.filter((block, index) => block.length > 0 && index <= begun);
    const block = random.pick(ready);
    if (block[0]?.type === "block_start") begun += 1;
    const [event] = block.splice(0, 1);
    if (event !== undefined) events.push(event);
    if (random.chance(0.1)) events.push({ type: "service_tier", tier: "default" });
  }
  return [...events, finish];
}

function ordered(events: readonly IrEvent[]): IrEvent[] {
  const order = new BlockOrder();
  const written: IrEvent[] = [];
  for (const event of events) {
    if (order.hold(event)) continue;
    written.push(event, ...order.release());
  }
  return written;
}

function collected(events: readonly IrEvent[]) {
  const collector = new EventCollector();
  for (const event of events) collector.push(event);
  return collector.response();
}

test("however blocks interleave, one is open at a time, nothing is lost, and their order is that of their beginnings", () => {
  for (let seed = 0; seed < 500; seed += 1) {
    const events = interleaved(seededRandom(seed));
    const written = ordered(events);
    let open: number | null = null;
    let next = 0;
    for (const event of written) {
      if (!("index" in event)) continue;
      if (event.type === "block_start") {
        expect({ seed, open, index: event.index }).toEqual({ seed, open: null, index: next });
        open = event.index;
        next += 1;
      } else expect({ seed, open }).toEqual({ seed, open: event.index });
      if (event.type === "block_end") open = null;
    }
    expect(written.at(-1)).toEqual(finish);
    expect(collected(written)).toEqual(collected(events));
  }
});

test("the first block is written as it comes", () => {
  const order = new BlockOrder();
  const start: IrEvent = { type: "block_start", index: 0, block: { type: "text" } };
  expect(order.hold(start)).toBe(false);
  expect(order.hold({ type: "block_start", index: 1, block: { type: "reasoning" } })).toBe(true);
  expect(order.hold({ type: "delta", index: 0, text: "now" })).toBe(false);
});
