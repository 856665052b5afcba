import type { JsonObject } from "../../../base/json.ts";
import { trimPrefill } from "../../anthropic-messages/provider/messages-out.ts";
import type { DroppedFields } from "../../contract/field-decisions.ts";
import type { IrMessage, IrReasoning, IrToolResult, IrUserBlock } from "../../ir/ir.ts";
import { assistantBegins } from "../../target/prompt-text.ts";
import { callInput } from "../../tools/call-input.ts";
import { type ConverseContentWriter, withText } from "./content-out.ts";

export interface WireMessage extends JsonObject {
  role: "user" | "assistant";
  content: JsonObject[];
}

/** Bedrock rejects a result without content. */
const noOutput = "(no output)";

/** Turns alternate, and the user's is first. An instruction in the middle of the conversation becomes user text. */
export function writeMessages(
  messages: readonly IrMessage[],
  writer: ConverseContentWriter,
  dropped: DroppedFields,
): WireMessage[] {
  const turns: WireMessage[] = [];
  let callIds: readonly string[] = [];
  for (const unordered of messages) {
    const message = inOrderOfCalls(unordered, callIds);
    if (message.role === "assistant")
      callIds = message.blocks.flatMap((block) => (block.type === "tool_call" ? [block.id] : []));
    if (message.role !== "system" && message.name !== undefined) dropped.addNamed("messageName");
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = writeBlocks(message, writer, dropped);
    const last = turns.at(-1);
    if (content.length === 0) continue;
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  for (const turn of turns) turn.content = withText(turn.content);
  if (turns[0]?.role === "assistant") turns.unshift({ role: "user", content: [{ text: assistantBegins }] });
  trimPrefill(turns.at(-1));
  return turns;
}

/** Bedrock requires results in the order of their calls, at the start of their turn. */
function inOrderOfCalls(message: IrMessage, callIds: readonly string[]): IrMessage {
  if (message.role !== "user" || callIds.length < 2) return message;
  const place = (block: IrUserBlock) =>
    block.type === "tool_result" ? callIds.indexOf(block.id) : callIds.length;
  return { ...message, blocks: message.blocks.toSorted((left, right) => place(left) - place(right)) };
}

function writeBlocks(
  message: IrMessage,
  writer: ConverseContentWriter,
  dropped: DroppedFields,
): JsonObject[] {
  const written: JsonObject[] = [];
  for (const block of message.blocks) {
    switch (block.type) {
      case "tool_call": {
        const { id, name, input, cache } = block;
        written.push({ toolUse: { toolUseId: id, name, input: callInput(input) } });
        writer.mark(written, cache);
        break;
      }
      case "tool_result":
        written.push(writeResult(block, writer));
        writer.mark(written, block.cache);
        break;
      case "reasoning":
        written.push(...writeReasoning(block, dropped));
        break;
      case "refusal":
        writer.add(written, { type: "text", text: block.text });
        break;
      default:
        writer.add(written, block);
    }
  }
  return written;
}

function writeResult(result: IrToolResult, writer: ConverseContentWriter): JsonObject {
  const content = writer.write(result.content);
  return {
    toolResult: {
      toolUseId: result.id,
      content: content.length === 0 ? [{ text: noOutput }] : content,
      status: result.isError ? "error" : "success",
    },
  };
}

/** Only what Anthropic has signed; the text has to be there even if it is empty. */
function writeReasoning({ parts, signature }: IrReasoning, dropped: DroppedFields): JsonObject[] {
  if (signature?.maker === "anthropic-redacted")
    return [{ reasoningContent: { redactedContent: signature.data } }];
  if (signature?.maker !== "anthropic") {
    dropped.addNamed("reasoning");
    return [];
  }
  const reasoningText = { text: parts.join(""), signature: signature.signature };
  return [{ reasoningContent: { reasoningText } }];
}
