import { assert } from "../../base/assert.ts";
import type { Json } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage/usage.ts";
import { stringOf } from "../json/json-fields.ts";
import type { IrBlockHead, IrCitation, IrEvent, IrFinish, IrSpan, ReasoningSignature } from "./ir.ts";

/** The field of a text block, or of the event that ends one; absent if nothing is cited. */
export function citing(citations: readonly IrCitation[]): { readonly citations?: readonly IrCitation[] } {
  return citations.length === 0 ? {} : { citations };
}

/** For dialects that require a span: the whole text if the citation has none, or one outside the text. */
export function spanWithin({ span }: IrCitation, textLength: number): IrSpan {
  const fits = span !== null && span.start >= 0 && span.start <= span.end && span.end <= textLength;
  return fits ? span : { start: 0, end: textLength };
}

/** A call of a function. What the provider leaves out is empty. */
export function functionCall(id: Json | undefined, name: Json | undefined): CallHead {
  return {
    type: "tool_call",
    id: stringOf(id) ?? "",
    kind: "function",
    namespace: null,
    name: stringOf(name) ?? "",
  };
}

type CallHead = Extract<IrBlockHead, { readonly type: "tool_call" }>;

/**
 * An unknown reason does not count as a normal end: the response may have been cut off. Every client dialect can report that
 * the provider stopped a response as a refusal, with a reason.
 */
export function unknownFinish(word: string): IrFinish {
  const explanation = `The provider ended the response with an unknown reason: ${word.slice(0, 100)}.`;
  return { reason: "refusal", stopSequence: null, explanation };
}

/** The finish of a complete response whose server sends no reason. */
export const unsaidFinish: IrFinish = { reason: "stop", stopSequence: null, explanation: null };

/**
 * The event for usage that a stream reports. The usage includes all output if it comes with the finish or after it, or
 * if every chunk comes with the usage up to it. Such usage is charged even if the stream breaks off.
 */
export function usageEvent(
  usage: ReportedUsage,
  includesAll: boolean,
): Extract<IrEvent, { readonly type: "usage" }> {
  return { type: "usage", usage: includesAll ? { ...usage, isUpToDate: true } : usage };
}

/** A block that has begun and not ended. */
export interface OpenBlock {
  readonly index: number;
  readonly head: IrBlockHead;
  isEmpty: boolean;
}

/** Numbers the blocks of one stream, and emits their events. */
export class BlockEmitter {
  /** Number of blocks that have begun. */
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
    signature: ReasoningSignature | null = null,
    citations: readonly IrCitation[] = [],
  ): void {
    const { index, head } = block;
    if (block.isEmpty && head.type === "tool_call" && head.kind === "function") this.append(block, "{}");
    this.#emit({ type: "block_end", index, signature, ...citing(citations) });
  }
}

type BlockEvent = Extract<IrEvent, { readonly index: number }>;

function isOfBlock(event: IrEvent): event is BlockEvent {
  const { type } = event;
  return type === "delta" || type === "block_start" || type === "block_end" || type === "part";
}

const nothing: readonly IrEvent[] = [];

/**
 * Puts the events of interleaved blocks into an order with one open block at a time: the first one passes, and the
 * events of the others wait until it has ended. Messages allows no more than one. OpenAI's dialects would, but OpenAI sends
 * one after the other, and clients such as LlamaIndex and LangChain give each fragment to the newest.
 */
export class BlockOrder {
  #open: number | null = null;
  /** In the order in which the blocks began. */
  readonly #waiting = new Map<number, BlockEvent[]>();

  /** True if the event has to wait and was kept; otherwise write it now, then `release` what it was in the way of. */
  hold(event: IrEvent): boolean {
    if (!isOfBlock(event)) return false;
    const { type, index } = event;
    if (type === "block_start" && this.#open === null) this.#open = index;
    else if (index !== this.#open) {
      this.#keep(event);
      return true;
    } else if (type === "block_end") this.#open = null;
    return false;
  }

  /** The events that need not wait any longer, in order. */
  release(): readonly IrEvent[] {
    if (this.#waiting.size === 0 || this.#open !== null) return nothing;
    const released: IrEvent[] = [];
    for (const [index, events] of this.#waiting) {
      this.#waiting.delete(index);
      for (const event of events) released.push(event);
      if (events.at(-1)?.type === "block_end") continue;
      this.#open = index;
      break;
    }
    return released;
  }

  /** Adjacent deltas become one. */
  #keep(event: BlockEvent): void {
    if (event.type === "block_start") {
      this.#waiting.set(event.index, [event]);
      return;
    }
    const events = this.#waiting.get(event.index);
    assert(events !== undefined, "the block is not open", event.index);
    const last = events.at(-1);
    if (event.type === "delta" && last?.type === "delta") {
      events[events.length - 1] = { ...last, text: last.text + event.text };
    } else events.push(event);
  }
}
