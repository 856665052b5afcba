import type { IrMessage, IrRequest } from "./ir.ts";

/** Whether an image requests more or less detail than the default. */
export function requestsImageDetail({ messages }: Pick<IrRequest, "messages">): boolean {
  return messages.some((message) =>
    message.blocks.some((block) =>
      block.type === "tool_result" ? block.content.some(hasDetail) : hasDetail(block),
    ),
  );
}

function hasDetail(block: IrMessage["blocks"][number]): boolean {
  return block.type === "image" && block.detail !== undefined && block.detail !== "auto";
}
