import type { IrAssistantBlock, IrMessage, IrRequest } from "../ir/ir.ts";

/** Removes the reasoning that a provider would recognise, and has refused: its account, key or model is another now. */
export function withoutProofs(request: IrRequest): IrRequest {
  return { ...request, messages: request.messages.map(withoutProofsIn) };
}

function withoutProofsIn(message: IrMessage): IrMessage {
  return message.role === "assistant" ? { ...message, blocks: message.blocks.filter(isUnproven) } : message;
}

function isUnproven(block: IrAssistantBlock): boolean {
  return block.type !== "reasoning" || block.proof === null || block.proof.maker === "chat";
}
