import type { IrAssistantBlock, IrMessage, IrRequest } from "../ir/ir.ts";
import type { DroppedFields } from "../translation/dropped-fields.ts";

/** Removes the reasoning that a provider would recognise, and has refused: its account, key or model is another now. */
export function withoutProofs(request: IrRequest, dropped: DroppedFields): IrRequest {
  const messages = request.messages.map((message) => withoutProofsIn(message, dropped));
  return { ...request, messages };
}

function withoutProofsIn(message: IrMessage, dropped: DroppedFields): IrMessage {
  if (message.role !== "assistant") return message;
  const blocks = message.blocks.filter(isUnproven);
  if (blocks.length < message.blocks.length) dropped.add(dropped.names.reasoning);
  return { ...message, blocks };
}

function isUnproven(block: IrAssistantBlock): boolean {
  return block.type !== "reasoning" || block.proof === null || block.proof.maker === "chat";
}
