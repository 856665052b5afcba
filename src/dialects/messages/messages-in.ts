import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { isCarrier, uncarry } from "../carrier.ts";
import type { IrAssistantBlock, IrMessage, IrReasoning, IrText, IrUserBlock } from "../ir.ts";
import { listOf, objectOf, stringOf } from "../json-fields.ts";
import { type Notes, refuse } from "../notes.ts";
import { blocksOf, cacheOf, readBlock, readContent, readTexts } from "./content-in.ts";

/**
 * Claude Code begins its prompt with a block for Anthropic's own accounting. It differs from request to
 * request, so that another provider's cache would never hit.
 */
const billingMark = "x-anthropic-billing-header:";

export function readSystem(system: Json | undefined): IrText[] {
  const texts = readTexts(system);
  if (typeof system === "string" && system.startsWith(billingMark)) {
    const rest = system.slice(system.indexOf("\n") + 1);
    return system.includes("\n") && rest.trim() !== "" ? [{ type: "text", text: rest }] : [];
  }
  return texts.filter((block) => !block.text.startsWith(billingMark));
}

export function readMessages(messages: Json | undefined, notes: Notes): IrMessage[] {
  return listOf(messages).flatMap((message, index): IrMessage[] => {
    if (!isObject(message)) return [];
    const path = `messages[${index}].content`;
    const { role, content } = message;
    if (role === "system") return present({ role, blocks: readTexts(content) });
    if (role !== "assistant") return present({ role: "user", blocks: readUser(content, path) });
    return present({ role, blocks: readAssistant(content, path, notes) });
  });
}

function present(message: IrMessage): IrMessage[] {
  return message.blocks.length === 0 ? [] : [message];
}

function readUser(content: Json | undefined, path: string): IrUserBlock[] {
  return blocksOf(content).flatMap((block, index): IrUserBlock[] => {
    const at = `${path}[${index}]`;
    return block["type"] === "tool_result" ? [readResult(block, at)] : readBlock(block, at);
  });
}

function readResult(block: JsonObject, path: string): IrUserBlock {
  return {
    type: "tool_result",
    id: stringOf(block["tool_use_id"]) ?? refuse(`${path}.tool_use_id`, "a result must name its call"),
    kind: "function",
    content: readContent(block["content"], `${path}.content`),
    isError: block["is_error"] === true,
    ...cacheOf(block),
  };
}

function readAssistant(content: Json | undefined, path: string, notes: Notes): IrAssistantBlock[] {
  return blocksOf(content).flatMap((block, index): IrAssistantBlock[] => {
    const at = `${path}[${index}]`;
    switch (block["type"]) {
      case "text":
        return readTexts([block]);
      case "thinking":
        return readThinking(block);
      case "redacted_thinking":
        return readRedacted(block);
      case "tool_use":
        return [readCall(block, at)];
      case "compaction":
        return refuse(at, "the model's provider cannot read a compaction");
      default:
        // What Anthropic's own tools did means nothing to another provider.
        notes.drop(at);
        return [];
    }
  });
}

/** A signature that is a carrier holds another provider's seal; any other is Anthropic's own. */
function readThinking(block: JsonObject): IrReasoning[] {
  const text = stringOf(block["thinking"]) ?? "";
  const signature = stringOf(block["signature"]) ?? "";
  if (isCarrier(signature)) {
    const carried = uncarry(signature, text);
    return carried === null ? [] : [carried];
  }
  const seal = signature === "" ? null : ({ maker: "anthropic", signature } as const);
  return [{ type: "reasoning", parts: [text], seal }];
}

function readRedacted(block: JsonObject): IrReasoning[] {
  const data = stringOf(block["data"]) ?? "";
  return [{ type: "reasoning", parts: [], seal: { maker: "anthropic-redacted", data } }];
}

function readCall(block: JsonObject, path: string): IrAssistantBlock {
  return {
    type: "tool_call",
    id: stringOf(block["id"]) ?? refuse(`${path}.id`, "a tool call must have an id"),
    kind: "function",
    namespace: null,
    name: stringOf(block["name"]) ?? refuse(`${path}.name`, "a tool call must have a name"),
    input: JSON.stringify(objectOf(block["input"]) ?? {}),
    ...cacheOf(block),
  };
}
