import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { imageTokens } from "../estimate.ts";
import type { TokenCounter } from "./counter.ts";

/** What vendors add around a message, a block and a tool; Anthropic also puts a preamble before any tools. */
const tokensPerMessage = 4;
const tokensPerTool = 10;
const toolsPreamble = 346;
const documentTokens = 3000;

/** Names whose values steer the request and are not read by the model. */
const unread = new Set([
  "type",
  "role",
  "id",
  "tool_use_id",
  "cache_control",
  "media_type",
  "signature",
  "caller",
]);

interface Found {
  readonly texts: string[];
  fixed: number;
}

/** The input tokens of a Messages request, for `count_tokens` where the provider offers no count of its own. */
export async function countRequest(body: JsonObject, counter: TokenCounter): Promise<number> {
  const found: Found = { texts: [], fixed: 0 };
  collect(body["system"], found);
  const messages = body["messages"];
  if (Array.isArray(messages)) {
    for (const message of messages) {
      found.fixed += tokensPerMessage;
      if (isObject(message)) collect(message["content"], found);
    }
  }
  collectTools(body["tools"], found);
  return found.fixed + (await counter.count(found.texts));
}

function collect(value: Json | undefined, found: Found): void {
  if (typeof value === "string") found.texts.push(value);
  else if (typeof value === "number" || typeof value === "boolean") found.texts.push(String(value));
  else if (Array.isArray(value)) for (const item of value) collect(item, found);
  else if (isObject(value)) collectBlock(value, found);
}

function collectBlock(block: JsonObject, found: Found): void {
  const source = block["source"];
  const isFile = isObject(source) && source["type"] !== "text" && source["type"] !== "content";
  if (block["type"] === "image" || (block["type"] === "document" && isFile)) {
    found.fixed += block["type"] === "image" ? imageTokens : documentTokens;
    return;
  }
  if (block["type"] === "redacted_thinking") return;
  // A tool's input is an object of the client's own making, read by the model as JSON.
  if (block["type"] === "tool_use" && isObject(block["input"])) {
    found.texts.push(String(block["name"]), JSON.stringify(block["input"]));
    return;
  }
  for (const name in block) if (!unread.has(name)) collect(block[name], found);
}

function collectTools(tools: Json | undefined, found: Found): void {
  if (!Array.isArray(tools) || tools.length === 0) return;
  found.fixed += toolsPreamble;
  for (const tool of tools) {
    found.fixed += tokensPerTool;
    if (!isObject(tool)) continue;
    const { cache_control: _, ...read } = tool;
    found.texts.push(JSON.stringify(read));
  }
}
