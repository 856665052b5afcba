import { expect, test } from "bun:test";
import type { Target } from "../../../../src/dialects/contract/provider-dialect.ts";
import { BlockEmitter } from "../../../../src/dialects/ir/blocks.ts";
import type { IrEvent } from "../../../../src/dialects/ir/ir.ts";
import type { CallFragment } from "../../../../src/dialects/openai-chat/provider/delta-in.ts";
import { CallAssembler } from "../../../../src/dialects/openai-chat/provider/stream-calls.ts";

const target = { model: "local" } as unknown as Target;

function fragment(part: Partial<CallFragment>): CallFragment {
  return { index: null, id: null, name: null, input: "", custom: false, signature: null, ...part };
}

/** The calls that come of these fragments: the id, the name and the input of each. */
function assembled(fragments: readonly CallFragment[]): string[] {
  const calls: string[] = [];
  const emit = (event: IrEvent): void => {
    if (event.type === "block_start" && event.block.type === "tool_call")
      calls[event.index] = `${event.block.id} ${event.block.name} `;
    if (event.type === "delta") calls[event.index] += event.text;
  };
  const assembler = new CallAssembler(new BlockEmitter(emit), target);
  for (const each of fragments) assembler.push(each);
  assembler.end();
  return calls;
}

test("fragments find their calls by index, by id, or as the last one", () => {
  const named = { name: "f" };
  expect(
    assembled([
      fragment({ index: 0, id: "a", ...named }),
      fragment({ index: 1, id: "b", ...named }),
      fragment({ index: 0, input: "1" }),
      fragment({ id: "b", input: "2" }),
      fragment({ input: "3" }),
    ]),
  ).toEqual(["a f 1", "b f 23"]);
});

test("another id with the same index is another call, and its fragments are told by their ids", () => {
  expect(
    assembled([
      fragment({ index: 0, id: "a", name: "f", input: "1" }),
      fragment({ index: 0, id: "b", name: "g", input: "2" }),
      fragment({ index: 0, id: "a", name: "f", input: "3" }),
      fragment({ index: 0, input: "4" }),
    ]),
  ).toEqual(["a f 13", "b g 24"]);
});

test("an id that comes later names its call", () => {
  expect(
    assembled([
      fragment({ index: 0, input: "1" }),
      fragment({ index: 0, id: "a", name: "f" }),
      fragment({ id: "a", input: "2" }),
    ]),
  ).toEqual(["a f 12"]);
});

test("a fragment is found among a hundred thousand calls without looking at each", () => {
  const count = 100_000;
  const fragments = Array.from({ length: count }, (_, index) =>
    fragment({ index, id: `call_${index}`, name: "f", input: String(index) }),
  );
  const calls = assembled([...fragments, fragment({ index: 7, input: "." })]);
  expect(calls).toHaveLength(count);
  expect(calls[7]).toBe("call_7 f 7.");
});
