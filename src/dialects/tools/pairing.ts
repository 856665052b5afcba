import type { IrContent, IrMessage, IrToolResult, IrUserBlock, ToolKind } from "../ir/ir.ts";

/**
 * Both vendors require every call to have its result in the next turn, and every result its call. This reorders a
 * conversation accordingly: results come first, and an instruction between a call and its result moves after it. A
 * result without a call becomes plain text, and a call without a result gets one that notes this.
 */
export function pairCallsWithResults(messages: readonly IrMessage[]): IrMessage[] {
  const paired: IrMessage[] = [];
  let at = 0;
  for (let message = messages[at]; message !== undefined; message = messages[at]) {
    at += 1;
    if (message.role !== "assistant") {
      paired.push(withoutOrphans(message));
      continue;
    }
    paired.push(message);
    const open = openCalls(message);
    if (open.size === 0) continue;
    const turn = messages.slice(at, nextAssistant(messages, at));
    at += turn.length;
    // The last message may be a call that the provider itself has to continue.
    if (turn.length > 0 || at < messages.length) paired.push(...answered(open, turn));
  }
  return paired;
}

function openCalls(message: IrMessage): Map<string, ToolKind> {
  const open = new Map<string, ToolKind>();
  for (const block of message.blocks) if (block.type === "tool_call") open.set(block.id, block.kind);
  return open;
}

function nextAssistant(messages: readonly IrMessage[], from: number): number {
  const found = messages.findIndex((message, index) => index >= from && message.role === "assistant");
  return found === -1 ? messages.length : found;
}

/** Everything up to the next assistant turn, with the results of `open` gathered in front. */
function answered(open: Map<string, ToolKind>, turn: readonly IrMessage[]): IrMessage[] {
  const results: IrToolResult[] = [];
  const rest: IrMessage[] = [];
  for (const message of turn) {
    if (message.role !== "user") {
      rest.push(message);
      continue;
    }
    const others: IrUserBlock[] = [];
    for (const block of message.blocks) {
      if (block.type !== "tool_result") others.push(block);
      else if (open.delete(block.id)) results.push(block);
      else others.push(...orphan(block));
    }
    if (others.length > 0) rest.push({ ...message, blocks: others });
  }
  for (const [id, kind] of open) results.push(missingResult(id, kind));
  // The user's text joins the results in one turn, as both vendors' clients write it.
  const next = rest[0];
  if (next?.role === "user" && next.name === undefined) {
    return [{ role: "user", blocks: [...results, ...next.blocks] }, ...rest.slice(1)];
  }
  return [{ role: "user", blocks: results }, ...rest];
}

/** Stands in for a result that the client never sent; vendors reject a call without one. */
export function missingResult(id: string, kind: ToolKind): IrToolResult {
  const text = "This call has no result.";
  return { type: "tool_result", id, kind, content: [{ type: "text", text }], isError: true };
}

function withoutOrphans(message: IrMessage): IrMessage {
  if (message.role !== "user" || !message.blocks.some((block) => block.type === "tool_result")) {
    return message;
  }
  const blocks = message.blocks.flatMap((block) => (block.type === "tool_result" ? orphan(block) : [block]));
  return { ...message, blocks };
}

function orphan(result: IrToolResult): IrContent[] {
  return [{ type: "text", text: `Result of an earlier tool call (${result.id}):` }, ...result.content];
}
