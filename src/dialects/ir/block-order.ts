import { assert } from "../../base/assert.ts";
import type { IrEvent } from "./ir.ts";

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
