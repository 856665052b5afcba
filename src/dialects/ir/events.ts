import { assert } from "../../base/assert.ts";
import type { ReportedUsage } from "../../base/usage/usage.ts";
import { citing } from "./answer-parts.ts";
import type {
  IrAssistantBlock,
  IrBlockHead,
  IrCitation,
  IrEvent,
  IrFinish,
  IrResponse,
  ReasoningSignature,
} from "./ir.ts";

/** Converts a whole response to the events of a stream. */
export function eventsOf(response: IrResponse): IrEvent[] {
  const events: IrEvent[] = [{ type: "start", usage: response.usage }];
  response.blocks.forEach((block, index) => {
    events.push({ type: "block_start", index, block: headOf(block) });
    textsOf(block).forEach((text, part) => {
      if (part > 0) events.push({ type: "part", index });
      if (text !== "") events.push({ type: "delta", index, text });
    });
    events.push(endOf(block, index));
  });
  if (response.serviceTier !== null) events.push({ type: "service_tier", tier: response.serviceTier });
  if (response.usage !== null) events.push({ type: "usage", usage: response.usage });
  events.push({ type: "finish", finish: response.finish });
  return events;
}

function headOf(block: IrAssistantBlock): IrBlockHead {
  if (block.type !== "tool_call") return { type: block.type };
  const { input: _, cache: __, ...head } = block;
  return head;
}

function endOf(block: IrAssistantBlock, index: number): IrEvent {
  const signature = block.type === "reasoning" ? block.signature : null;
  const citations = block.type === "text" ? block.citations : undefined;
  return { type: "block_end", index, signature, ...citing(citations ?? []) };
}

function textsOf(block: IrAssistantBlock): readonly string[] {
  if (block.type === "reasoning") return block.parts;
  return [block.type === "tool_call" ? block.input : block.text];
}

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
