import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type DroppedFields, reject } from "../../contract/field-decisions.ts";
import type {
  IrAssistantBlock,
  IrMessage,
  IrReasoning,
  IrText,
  IrToolCall,
  IrToolResult,
  IrUserBlock,
} from "../../ir/ir.ts";
import { listOf, objectOf, stringOf } from "../../json/json-fields.ts";
import { isReasoningEnvelope, unwrapReasoning } from "../../reasoning/reasoning-envelope.ts";
import { readBlock, readBlocks, readContent, readText, readTexts, withMark } from "./content-in.ts";

/**
 * Claude Code starts its prompt with a block for Anthropic's billing. It differs from request to request, so that
 * another provider's cache would never hit.
 */
const billingMark = "x-anthropic-billing-header:";

export function readSystem(system: Json | undefined): IrText[] {
  if (system === undefined) return [];
  const texts = readTexts(system);
  if (typeof system === "string" && system.startsWith(billingMark)) {
    const rest = system.slice(system.indexOf("\n") + 1);
    return system.includes("\n") && rest.trim() !== "" ? [{ type: "text", text: rest }] : [];
  }
  return texts.filter((block) => !block.text.startsWith(billingMark));
}

export function readMessages(messages: Json | undefined, dropped: DroppedFields): IrMessage[] {
  const read: IrMessage[] = [];
  const all = listOf(messages);
  const lastUser = all.findLastIndex((message) => objectOf(message)?.["role"] === "user");
  for (const [index, message] of all.entries()) {
    if (!isObject(message)) continue;
    // What an instruction says until the next user message is not shown after it.
    if (message["clear_at"] === "next_user_message" && index < lastUser) continue;
    const turn = readMessage(message, `messages[${index}].content`, dropped);
    if (turn.blocks.length > 0) read.push(turn);
  }
  return read;
}

function readMessage({ role, content }: JsonObject, path: string, dropped: DroppedFields): IrMessage {
  if (role === "system") return { role, blocks: readTexts(content) };
  if (role !== "assistant") return { role: "user", blocks: readBlocks(content, path, readUserBlock) };
  return { role, blocks: readBlocks(content, path, (block, at) => readAssistantBlock(block, at, dropped)) };
}

function readUserBlock(block: JsonObject, path: string): IrUserBlock | null {
  return block["type"] === "tool_result" ? readResult(block, path) : readBlock(block, path);
}

function readResult(block: JsonObject, path: string): IrToolResult {
  const result: IrToolResult = {
    type: "tool_result",
    id: stringOf(block["tool_use_id"]) ?? reject(`${path}.tool_use_id`, "must be the id of a tool call"),
    kind: "function",
    content: readContent(block["content"], `${path}.content`),
    isError: block["is_error"] === true,
  };
  return withMark(result, block);
}

function readAssistantBlock(
  block: JsonObject,
  path: string,
  dropped: DroppedFields,
): IrAssistantBlock | null {
  switch (block["type"]) {
    case "text":
      return readText(block);
    case "thinking":
      return readThinking(block);
    case "redacted_thinking":
      return readRedacted(block);
    case "tool_use":
      return readCall(block, path);
    case "compaction":
      return reject(path, 'has type "compaction", which this model\'s provider does not support');
    default:
      // Calls and results of Anthropic's hosted tools.
      dropped.add(path);
      return null;
  }
}

/** A signature is an envelope with another provider's signature, or Anthropic's own. */
function readThinking(block: JsonObject): IrReasoning | null {
  const text = stringOf(block["thinking"]) ?? "";
  const sent = stringOf(block["signature"]) ?? "";
  if (isReasoningEnvelope(sent)) return unwrapReasoning(sent, text);
  const signature = sent === "" ? null : ({ maker: "anthropic", signature: sent } as const);
  return { type: "reasoning", parts: [text], signature };
}

function readRedacted(block: JsonObject): IrReasoning {
  const data = stringOf(block["data"]) ?? "";
  return { type: "reasoning", parts: [], signature: { maker: "anthropic-redacted", data } };
}

function readCall(block: JsonObject, path: string): IrToolCall {
  const call: IrToolCall = {
    type: "tool_call",
    id: stringOf(block["id"]) ?? reject(`${path}.id`, "must be the id of the tool call"),
    kind: "function",
    namespace: null,
    name: stringOf(block["name"]) ?? reject(`${path}.name`, "must be the name of the tool"),
    input: JSON.stringify(objectOf(block["input"]) ?? {}),
  };
  return withMark(call, block);
}
