import { citing } from "./answer-parts.ts";
import type { IrBlockHead, IrCitation, IrEvent, ReasoningSignature } from "./ir.ts";

/** A block that has begun and not ended. */
export interface OpenBlock {
  readonly index: number;
  readonly head: IrBlockHead;
  isEmpty: boolean;
}

/** Numbers the blocks of one stream, and emits their events. */
export class BlockEmitter {
  /** How many have begun. */
  count = 0;
  readonly #emit: (event: IrEvent) => void;

  constructor(emit: (event: IrEvent) => void) {
    this.#emit = emit;
  }

  begin(head: IrBlockHead): OpenBlock {
    const block = { index: this.count, head, isEmpty: true };
    this.count += 1;
    this.#emit({ type: "block_start", index: block.index, block: head });
    return block;
  }

  append(block: OpenBlock, text: string): void {
    if (text === "") return;
    block.isEmpty = false;
    this.#emit({ type: "delta", index: block.index, text });
  }

  /** A function that was called without input is called with an empty object. */
  end(
    block: OpenBlock,
    proof: ReasoningSignature | null = null,
    citations: readonly IrCitation[] = [],
  ): void {
    const { index, head } = block;
    if (block.isEmpty && head.type === "tool_call" && head.kind === "function") this.append(block, "{}");
    this.#emit({ type: "block_end", index, proof, ...citing(citations) });
  }
}
