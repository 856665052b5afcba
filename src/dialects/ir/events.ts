import { assert } from "../../base/assert.ts";
import type { ReportedUsage } from "../../base/usage/usage.ts";
import { citing } from "./blocks.ts";
import type {
  IrAssistantBlock,
  IrBlockHead,
  IrCitation,
  IrEvent,
  IrFinish,
  IrResponse,
  ReasoningSignature,
} from "./ir.ts";

interface Growing {
  readonly head: IrBlockHead;
  readonly parts: string[];
  signature: ReasoningSignature | null;
  citations: readonly IrCitation[];
}

/** Collects the events of a stream into a whole response. */
export class EventCollector {
  readonly #blocks = new Map<number, Growing>();
  #finish: IrFinish | null = null;
  #usage: ReportedUsage | null = null;
  #serviceTier: string | null = null;

  push(event: IrEvent): void {
    switch (event.type) {
      case "start":
      case "usage":
        this.#usage = event.usage ?? this.#usage;
        return;
      case "block_start":
        this.#blocks.set(event.index, { head: event.block, parts: [], signature: null, citations: [] });
        return;
      case "part":
        this.#block(event.index).parts.push("");
        return;
      case "delta":
        this.#append(this.#block(event.index).parts, event.text);
        return;
      case "block_end":
        this.#end(this.#block(event.index), event);
        return;
      case "service_tier":
        this.#serviceTier = event.tier;
        return;
      case "finish":
        this.#finish = event.finish;
        return;
    }
  }

  response(): IrResponse {
    assert(this.#finish !== null, "a response is collected only after its finish");
    const blocks = [...this.#blocks.values()].map(blockOf);
    return { blocks, finish: this.#finish, usage: this.#usage, serviceTier: this.#serviceTier };
  }

  #block(index: number): Growing {
    const block = this.#blocks.get(index);
    assert(block !== undefined, "the block has not begun", index);
    return block;
  }

  #end(block: Growing, { signature, citations }: Extract<IrEvent, { type: "block_end" }>): void {
    block.signature = signature;
    block.citations = citations ?? [];
  }

  #append(parts: string[], text: string): void {
    const last = Math.max(parts.length - 1, 0);
    parts[last] = (parts[last] ?? "") + text;
  }
}

function blockOf({ head, parts, signature, citations }: Growing): IrAssistantBlock {
  if (head.type === "reasoning") return { type: "reasoning", parts, signature };
  const text = parts.join("");
  if (head.type === "tool_call") return { ...head, input: text };
  return head.type === "refusal" ? { type: "refusal", text } : { type: "text", text, ...citing(citations) };
}
