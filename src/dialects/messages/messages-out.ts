import type { JsonObject } from "../../base/json.ts";
import type { Target } from "../codec.ts";
import { reasoningFields } from "../effort.ts";
import type { IrAssistantBlock, IrMessage, IrReasoning, IrRequest, IrToolResult } from "../ir.ts";
import { takesSystemMessages } from "../models.ts";
import type { Notes } from "../notes.ts";
import { callInput } from "../tools/call-input.ts";
import { withCache, writeContent } from "./content-out.ts";

interface WireMessage extends JsonObject {
  role: string;
  content: JsonObject[];
}

export function writeMessages(request: IrRequest, target: Target, notes: Notes): WireMessage[] {
  const inPlace = takesSystemMessages(target) ? "system" : "user";
  const messages: WireMessage[] = [];
  for (const message of request.messages) {
    const content = writeBlocks(message, notes);
    if (message.role !== "system" && message.name !== undefined) notes.drop("messages[].name");
    if (content.length > 0)
      messages.push({ role: message.role === "system" ? inPlace : message.role, content });
  }
  trimPrefill(messages.at(-1));
  return messages.filter((message) => message.content.length > 0);
}

function writeBlocks(message: IrMessage, notes: Notes): JsonObject[] {
  if (message.role === "assistant") {
    return message.blocks.flatMap((block) => writeAssistantBlock(block, notes));
  }
  if (message.role === "system") return writeContent(message.blocks);
  return message.blocks.flatMap((block) =>
    block.type === "tool_result" ? [writeResult(block)] : writeContent([block]),
  );
}

function writeResult(result: IrToolResult): JsonObject {
  const content = writeContent(result.content);
  const [only] = content;
  const plain = content.length === 1 && only?.["type"] === "text" && only["cache_control"] === undefined;
  return withCache(
    {
      type: "tool_result",
      tool_use_id: result.id,
      ...(content.length === 0 ? {} : { content: plain ? only["text"] : content }),
      ...(result.isError ? { is_error: true } : {}),
    },
    result.cache,
  );
}

function writeAssistantBlock(block: IrAssistantBlock, notes: Notes): JsonObject[] {
  switch (block.type) {
    case "text":
      return writeContent([block]);
    case "refusal":
      return writeContent([{ type: "text", text: block.text }]);
    case "reasoning":
      return writeReasoning(block, notes);
    case "tool_call": {
      const { id, name, input } = block;
      return [withCache({ type: "tool_use", id, name, input: callInput(input) }, block.cache)];
    }
  }
}

/** Only what Anthropic itself has sealed, bit by bit as it was; it refuses everything else. */
function writeReasoning({ parts, seal }: IrReasoning, notes: Notes): JsonObject[] {
  if (seal?.maker === "anthropic-redacted") return [{ type: "redacted_thinking", data: seal.data }];
  if (seal?.maker !== "anthropic") {
    notes.drop(reasoningFields[notes.client]);
    return [];
  }
  return [{ type: "thinking", thinking: parts.join(""), signature: seal.signature }];
}

/** An answer that the model is to continue may not end in white space. */
function trimPrefill(last: WireMessage | undefined): void {
  const block = last?.role === "assistant" ? last.content.at(-1) : undefined;
  if (block?.["type"] === "text" && typeof block["text"] === "string")
    block["text"] = block["text"].trimEnd();
}
