import type { Json, JsonObject } from "../base/json.ts";

/**
 * Tokens in a request before anybody has counted them, for holds. It is meant to be at or above the truth
 * for ordinary text and is never what a call is charged. Measured against real tokenizers: English prose
 * has 4 to 5 bytes a token, code 3 to 3.5, Chinese and Japanese about 3 and dense JSON 2.5, so that is the
 * bound: dense text touches it and prose stays well below.
 */
const bytesPerToken = 2.5;
/** Role markers and separators that every vendor wraps around a message, an item or a content block. */
const tokensPerObject = 4;
const tokensPerTool = 12;
/** Anthropic puts a system prompt of about this size in front of any tools. */
const toolsPreamble = 350;

/** The largest that a picture costs with the vendors' default settings. */
export const imageTokens = 1600;
/** A page of a document as text and picture together; how many pages it has is only seen in its size. */
const pageTokens = 3000;
const base64CharsPerPage = 100_000;
const base64CharsPerAudioToken = 400;

/** Shorter strings are cheap to count as text, whatever they are. */
const shortestBinary = 256;

type Attachment = "image" | "document" | "audio";

function attachmentOf(type: Json | undefined): Attachment | null {
  switch (type) {
    case "image":
    case "image_url":
    case "input_image":
      return "image";
    case "document":
    case "file":
    case "input_file":
      return "document";
    case "input_audio":
      return "audio";
    default:
      return null;
  }
}

/** An upper estimate of a body's input tokens, in any dialect. One walk, nothing allocated. */
export function estimateInput(body: JsonObject): number {
  const tools = body["tools"];
  const toolTokens =
    Array.isArray(tools) && tools.length > 0 ? toolsPreamble + tools.length * tokensPerTool : 0;
  return Math.ceil(objectTokens(body, null) + toolTokens);
}

/** Tokens in a text by the same measure, for where no better count can be had. */
export function estimateText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

function tokensOf(value: Json | undefined, within: Attachment | null): number {
  if (typeof value === "string") return stringTokens(value, within);
  if (typeof value === "number") return 3;
  if (typeof value !== "object" || value === null) return 1;
  if (!Array.isArray(value)) return objectTokens(value, within);
  let tokens = 0;
  for (const item of value) tokens += tokensOf(item, within);
  return tokens;
}

function objectTokens(object: JsonObject, within: Attachment | null): number {
  const attachment = attachmentOf(object["type"]);
  let tokens = tokensPerObject;
  if (attachment === "image") tokens += imageTokens;
  if (attachment === "document") tokens += pageTokens;
  for (const name in object) {
    tokens += name.length / bytesPerToken + tokensOf(object[name], attachment ?? within);
  }
  return tokens;
}

function stringTokens(text: string, within: Attachment | null): number {
  if (within !== null && text.length >= shortestBinary && looksEncoded(text)) {
    if (within === "document") return (text.length / base64CharsPerPage) * pageTokens;
    return within === "audio" ? text.length / base64CharsPerAudioToken : 0;
  }
  return Buffer.byteLength(text) / bytesPerToken;
}

const base64Start = /^[A-Za-z0-9+/_=\r\n-]{256}/;

/** Documents also come as plain text under the same names, and that is counted as text. */
function looksEncoded(text: string): boolean {
  return text.startsWith("data:") || base64Start.test(text);
}
