import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { repeated, spellings } from "../../base/proto-json.ts";
import { type Attachment, attachmentOf } from "../attachments.ts";
import { estimateAttachment, imageTokens } from "../estimate.ts";
import { googlePlace, mediumBlock, toolsIn } from "../google-contents.ts";

/** Tokens that vendors add around a message and a tool. */
const tokensPerMessage = 4;
const tokensPerTool = 10;
/** Tokens that only Anthropic adds before the tools of a request, however few and small they are. */
const claudeToolsPreamble = 346;
/** Tokens of a typical attachment. */
const defaultTokens: Readonly<Record<Attachment, number>> = {
  image: imageTokens,
  document: 3000,
  audio: 500,
  media: 500,
};

/** Reasoning that only its provider can read. It is billed in some turns, and not in others. */
const encryptedFields = new Set(["signature", "encrypted_content"]);
const encryptedInParts = new Set(spellings(["thoughtSignature"]));
/** Base64 of about four bytes a token. */
const encryptedCharsPerToken = 5;

/** Fields that control the request, so the model does not read them. */
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
]);

/**
 * Names of the members that surround a block's content. An object under any other name may be JSON that the model
 * reads: a tool's input, or a schema.
 */
const ownFields = new Set([
  ...unreadFields,
  ...encryptedFields,
  ...["content", "text", "name", "thinking", "output", "summary", "source", "title", "url", "data"],
  ...["tool_calls", "function", "custom", "arguments", "is_error", "phase", "annotations", "citations"],
  ...["reasoning_content", "refusal"],
]);

/** The parts of a request that a model reads: texts to be counted, and parts with a fixed number of tokens. */
export interface ModelInput {
  readonly texts: string[];
  fixedTokens: number;
  /** Additional tokens for Claude. */
  claudeTokens: number;
  /** Possible additional tokens: large attachments, encrypted reasoning, and unknown members of the body. */
  possibleTokens: number;
}

/** Works for all dialects: their messages, instructions and tools are in fields with different names. */
export function modelInputOf(body: JsonObject): ModelInput {
  const input: ModelInput = { texts: [], fixedTokens: 0, claudeTokens: 0, possibleTokens: 0 };
  collect(body["system"], input);
  collect(body["instructions"], input);
  collectMessages(body["messages"], input);
  collectMessages(body["input"], input);
  collectGoogle(body, input);
  collectTools(body["tools"], input);
  collectOthers(body, input);
  return input;
}

/** Members of the body that the model reads as JSON. */
const readAsJson = new Set([
  "functions",
  "response_format",
  "text",
  "output_config",
  "output_format",
  "prompt",
]);

const configNames = new Set(spellings(["generationConfig"]));
/** Members of Google's `generationConfig` that the model reads as JSON. */
const readConfig = new Set(spellings(["responseSchema", "responseJsonSchema", "responseFormat"]));

/** Members that are read above, or that no model reads. */
const otherwiseKnown = new Set([
  ...["system", "instructions", "messages", "input", "tools"],
  ...["model", "stream_options", "modalities", "audio", "include", "tool_choice", "function_call"],
  ...["reasoning", "reasoning_effort", "thinking", "stop", "stop_sequences", "logit_bias"],
  ...["user", "safety_identifier", "metadata", "prompt_cache_key", "prompt_cache_retention"],
  ...["service_tier", "speed", "inference_geo", "truncation"],
  ...["previous_response_id", "conversation", "thread", "container", "context_management", "cache_control"],
]);

function collectOthers(body: JsonObject, input: ModelInput): void {
  for (const name in body) {
    const value = body[name];
    if (otherwiseKnown.has(name) || googlePlace(name, "request") !== null || value === null) continue;
    if (typeof value !== "object" && typeof value !== "string") continue;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (configNames.has(name)) collectConfig(value, input);
    else if (readAsJson.has(name)) input.texts.push(text);
    else input.possibleTokens += Buffer.byteLength(text);
  }
}

function collectConfig(config: Json, input: ModelInput): void {
  if (!isObject(config)) return;
  for (const name in config) if (readConfig.has(name)) input.texts.push(JSON.stringify(config[name]));
}

function collectMessages(messages: Json | undefined, input: ModelInput): void {
  if (typeof messages !== "string" && !Array.isArray(messages)) return;
  input.fixedTokens += tokensPerMessage * (typeof messages === "string" ? 1 : messages.length);
  collect(messages, input);
}

/** Contents of Google's form, wherever they are in the body. */
function collectGoogle(body: JsonObject, input: ModelInput): void {
  for (const name in body) {
    const place = googlePlace(name, "request");
    if (place === "request") for (const inner of repeated(body[name])) collectRequest(inner, input);
    if (place === "contents") for (const content of repeated(body[name])) collectContent(content, input);
  }
}

function collectRequest(request: Json, input: ModelInput): void {
  if (!isObject(request)) return;
  collectGoogle(request, input);
  collectTools(request["tools"], input);
  collectOthers(request, input);
}

function collectContent(content: Json, input: ModelInput): void {
  input.fixedTokens += tokensPerMessage;
  if (isObject(content)) for (const part of repeated(content["parts"])) collectPart(part, input);
  else collect(content, input);
}

/** A text, a medium, or JSON with the names that surround it. */
function collectPart(part: Json, input: ModelInput): void {
  if (!isObject(part)) {
    collect(part, input);
    return;
  }
  for (const name in part) {
    const value = part[name];
    const place = googlePlace(name, "parts");
    if (encryptedInParts.has(name)) addEncrypted(value, input);
    else if (typeof value === "string") input.texts.push(value);
    else if (place === "medium") for (const medium of repeated(value)) collectMedium(medium, input);
    else if (place === "result") for (const result of repeated(value)) collectResult(result, input);
    else if (isObject(value)) input.texts.push(JSON.stringify({ ...value, id: undefined }));
    else if (Array.isArray(value)) input.texts.push(JSON.stringify(value));
  }
}

function collectMedium(medium: Json, input: ModelInput): void {
  collect(isObject(medium) ? mediumBlock(medium) : medium, input);
}

/** The result of a function, whose parts are media. */
function collectResult(result: Json, input: ModelInput): void {
  if (!isObject(result)) return;
  const { parts, id: _, ...said } = result;
  input.texts.push(JSON.stringify(said));
  for (const part of repeated(parts)) collectPart(part, input);
}

/** Collects JSON that the model may read. Names and brackets count, too. */
function collect(value: Json | undefined, input: ModelInput, isJson = false): void {
  if (isJson) input.possibleTokens += value === null ? 4 : 2;
  if (typeof value === "string") input.texts.push(value);
  else if (typeof value === "number" || typeof value === "boolean") input.texts.push(String(value));
  else if (Array.isArray(value)) for (const item of value) collect(item, input, isJson);
  else if (isObject(value)) collectBlock(value, input, isJson);
}

function collectBlock(block: JsonObject, input: ModelInput, isJson: boolean): void {
  if (block["type"] === "redacted_thinking") {
    addEncrypted(block["data"], input);
    return;
  }
  const attachment = isPlainDocument(block) ? null : attachmentOf(block["type"]);
  if (attachment !== null) {
    const usual = defaultTokens[attachment];
    input.fixedTokens += usual;
    input.possibleTokens += Math.max(0, estimateAttachment(block) - usual);
    return;
  }
  // A tool's input has arbitrary fields. The model reads it as JSON.
  if (block["type"] === "tool_use" && isObject(block["input"])) {
    if (typeof block["name"] === "string") input.texts.push(block["name"]);
    input.texts.push(JSON.stringify(block["input"]));
    return;
  }
  for (const name in block) {
    const isOther = isJson || !ownFields.has(name);
    if (isOther) input.possibleTokens += Buffer.byteLength(name) + 3;
    if (encryptedFields.has(name)) addEncrypted(block[name], input);
    else if (isJson || !unreadFields.has(name)) collect(block[name], input, isOther);
  }
}

function addEncrypted(value: Json | undefined, input: ModelInput): void {
  if (typeof value === "string") input.possibleTokens += Math.ceil(value.length / encryptedCharsPerToken);
}

function isPlainDocument({ type, source }: JsonObject): boolean {
  return (
    type === "document" && isObject(source) && (source["type"] === "text" || source["type"] === "content")
  );
}

function collectTools(tools: Json | undefined, input: ModelInput): void {
  const list = Array.isArray(tools) || isObject(tools) ? repeated(tools) : [];
  if (list.length === 0) return;
  input.claudeTokens = claudeToolsPreamble;
  for (const tool of list) {
    input.fixedTokens += tokensPerTool * toolsIn(tool);
    if (!isObject(tool)) continue;
    const { cache_control: _, ...read } = tool;
    input.texts.push(JSON.stringify(read));
  }
}

/** The bytes were validated as a JSON object before. */
export function parseModelInput(bytes: Uint8Array): ModelInput {
  const body: Json = JSON.parse(new TextDecoder().decode(bytes));
  return modelInputOf(isObject(body) ? body : {});
}
