import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { imageTokens } from "../estimate.ts";

/** What vendors add around a message and a tool. Anthropic also adds a preamble before the tools. */
const tokensPerMessage = 4;
const tokensPerTool = 10;
const toolsPreamble = 346;
const documentTokens = 3000;
const audioTokens = 500;

/** Fields that control the request or are opaque, so the model does not read them. */
const unreadFields = new Set([
  "type",
  "role",
  "id",
  "call_id",
  "tool_call_id",
  "tool_use_id",
  "cache_control",
  "media_type",
  "status",
  "signature",
  "encrypted_content",
]);

/** What a model reads of a request: texts to be counted, and parts with a fixed number of tokens. */
export interface ModelInput {
  readonly texts: string[];
  fixedTokens: number;
}

/** Works for all dialects: their messages, instructions and tools are in fields with different names. */
export function modelInputOf(body: JsonObject): ModelInput {
  const found: ModelInput = { texts: [], fixedTokens: 0 };
  collect(body["system"], found);
  collect(body["instructions"], found);
  collectMessages(body["messages"], found);
  collectMessages(body["input"], found);
  collectTools(body["tools"], found);
  return found;
}

function collectMessages(messages: Json | undefined, found: ModelInput): void {
  if (typeof messages !== "string" && !Array.isArray(messages)) return;
  found.fixedTokens += tokensPerMessage * (typeof messages === "string" ? 1 : messages.length);
  collect(messages, found);
}

function collect(value: Json | undefined, found: ModelInput): void {
  if (typeof value === "string") found.texts.push(value);
  else if (typeof value === "number" || typeof value === "boolean") found.texts.push(String(value));
  else if (Array.isArray(value)) for (const item of value) collect(item, found);
  else if (isObject(value)) collectBlock(value, found);
}

function collectBlock(block: JsonObject, found: ModelInput): void {
  const attached = attachmentTokens(block);
  if (attached !== null) {
    found.fixedTokens += attached;
    return;
  }
  // A tool's input has arbitrary fields. The model reads it as JSON.
  if (block["type"] === "tool_use" && isObject(block["input"])) {
    if (typeof block["name"] === "string") found.texts.push(block["name"]);
    found.texts.push(JSON.stringify(block["input"]));
    return;
  }
  for (const name in block) if (!unreadFields.has(name)) collect(block[name], found);
}

/** Null for what is read as text, including documents of plain text. */
function attachmentTokens(block: JsonObject): number | null {
  const source = isObject(block["source"]) ? block["source"]["type"] : undefined;
  switch (block["type"]) {
    case "image":
    case "image_url":
    case "input_image":
      return imageTokens;
    case "file":
    case "input_file":
      return documentTokens;
    case "document":
      return source === "text" || source === "content" ? null : documentTokens;
    case "input_audio":
      return audioTokens;
    case "redacted_thinking":
      return 0;
    default:
      return null;
  }
}

function collectTools(tools: Json | undefined, found: ModelInput): void {
  if (!Array.isArray(tools) || tools.length === 0) return;
  found.fixedTokens += toolsPreamble;
  for (const tool of tools) {
    found.fixedTokens += tokensPerTool;
    if (!isObject(tool)) continue;
    const { cache_control: _, ...read } = tool;
    found.texts.push(JSON.stringify(read));
  }
}

/** The bytes were validated as a JSON object before. */
export function parseModelInput(bytes: Uint8Array): ModelInput {
  const body: Json = JSON.parse(new TextDecoder().decode(bytes));
  return isObject(body) ? modelInputOf(body) : { texts: [], fixedTokens: 0 };
}
