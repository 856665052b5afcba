import type { JsonObject } from "../../../base/json.ts";
import type { DroppedFields } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import type { IrMessage, IrReasoning, IrRequest, IrToolResult } from "../../ir/ir.ts";
import { takesSystemMessages } from "../../target/model-traits.ts";
import { assistantBegins } from "../../target/prompt-text.ts";
import { callInput } from "../../tools/call-input.ts";
import { withCache, writeContent } from "./content-out.ts";

interface WireMessage extends JsonObject {
  role: string;
  content: JsonObject[];
}

export function writeMessages(request: IrRequest, target: Target, dropped: DroppedFields): WireMessage[] {
  const inPlace = takesSystemMessages(target) ? "system" : "user";
  const messages: WireMessage[] = [];
  for (const message of request.messages) {
    const blocks: readonly Block[] = message.blocks;
    const content = blocks.flatMap((block) => writeBlock(block, dropped));
    if (message.role !== "system" && message.name !== undefined) dropped.addNamed("messageName");
    if (content.length > 0)
      messages.push({ role: message.role === "system" ? inPlace : message.role, content });
  }
  trimPrefill(messages.at(-1));
  return beginWithUser(messages);
}

/** Anthropic rejects a conversation that the assistant begins, such as one that opens with a greeting. */
function beginWithUser(messages: WireMessage[]): WireMessage[] {
  const first = messages.findIndex(({ role }) => role !== "system");
  if (messages[first]?.role !== "assistant") return messages;
  return messages.toSpliced(first, 0, { role: "user", content: [{ type: "text", text: assistantBegins }] });
}

type Block = IrMessage["blocks"][number];

function writeBlock(block: Block, dropped: DroppedFields): JsonObject[] {
  switch (block.type) {
    case "tool_result":
      return [writeResult(block)];
    case "tool_call": {
      const { id, name, input, cache } = block;
      return [withCache({ type: "tool_use", id, name, input: callInput(input) }, cache)];
    }
    case "reasoning":
      return writeReasoning(block, dropped);
    case "refusal":
      return writeContent([{ type: "text", text: block.text }]);
    default:
      return writeContent([block]);
  }
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

/** Only what Anthropic itself has signed, unchanged; it rejects everything else. */
function writeReasoning({ parts, signature }: IrReasoning, dropped: DroppedFields): JsonObject[] {
  if (signature?.maker === "anthropic-redacted") return [{ type: "redacted_thinking", data: signature.data }];
  if (signature?.maker !== "anthropic") {
    dropped.addNamed("reasoning");
    return [];
  }
  return [{ type: "thinking", thinking: parts.join(""), signature: signature.signature }];
}

/** Claude rejects a prefilled response that ends in white space. */
export function trimPrefill(last: WireMessage | undefined): void {
  const block = last?.role === "assistant" ? last.content.at(-1) : undefined;
  if (typeof block?.["text"] === "string") block["text"] = block["text"].trimEnd();
}
