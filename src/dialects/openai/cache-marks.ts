import type { IrMessage, IrRequest, IrTool } from "../ir/ir.ts";
import type { DroppedFields } from "../translation/dropped-fields.ts";

/** OpenAI and compatible servers cache automatically, so the client's cache marks are dropped. */
export function dropCacheMarks(request: IrRequest, dropped: DroppedFields): void {
  const marked =
    request.system.some((block) => block.cache !== undefined) ||
    request.messages.some(isMarked) ||
    request.tools.some(isMarkedTool);
  if (marked) dropped.add(dropped.names.cacheMark);
}

function isMarked(message: IrMessage): boolean {
  return message.blocks.some((block) => "cache" in block && block.cache !== undefined);
}

function isMarkedTool(tool: IrTool): boolean {
  return tool.type === "function" && tool.cache !== undefined;
}
