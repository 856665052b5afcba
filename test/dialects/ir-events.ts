import { citing } from "../../src/dialects/ir/blocks.ts";
import { EventCollector } from "../../src/dialects/ir/events.ts";
import type { IrAssistantBlock, IrBlockHead, IrEvent, IrResponse } from "../../src/dialects/ir/ir.ts";

/** What the events of a whole answer say. */
export function collected(events: readonly IrEvent[]): IrResponse {
  const collector = new EventCollector();
  for (const event of events) collector.push(event);
  return collector.response();
}

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
