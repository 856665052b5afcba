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

/** An upper estimate of a body's input tokens, in any dialect. */
export function estimateInput(body: JsonObject): number {
  return tallyOf(body).total(0);
}

/**
 * The same for a body whose long texts are cut short by `cutBytes` in all. Null when it has attachments and
 * needs the whole body: what they cost is seen in their texts.
 */
export function estimateOutline(outline: JsonObject, cutBytes: number): number | null {
  const tally = tallyOf(outline);
  return tally.hasAttachments && cutBytes > 0 ? null : tally.total(cutBytes);
}

/** Tokens in a text by the same measure, for where no better count can be had. */
export function estimateText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

function tallyOf(body: JsonObject): Tally {
  const tally = new Tally();
  tally.addObject(body, null);
  const tools = body["tools"];
  if (Array.isArray(tools) && tools.length > 0) tally.tokens += toolsPreamble + tools.length * tokensPerTool;
  return tally;
}

/** One walk through a body, nothing allocated on it. */
class Tally {
  textBytes = 0;
  /** What is not measured by its text. */
  tokens = 0;
  hasAttachments = false;

  total(furtherBytes: number): number {
    return Math.ceil(this.tokens + (this.textBytes + furtherBytes) / bytesPerToken);
  }

  addObject(object: JsonObject, within: Attachment | null): void {
    const attachment = attachmentOf(object["type"]);
    if (attachment !== null) this.hasAttachments = true;
    if (attachment === "image") this.tokens += imageTokens;
    if (attachment === "document") this.tokens += pageTokens;
    this.tokens += tokensPerObject;
    for (const name in object) {
      this.textBytes += name.length;
      this.#add(object[name], attachment ?? within);
    }
  }

  #add(value: Json | undefined, within: Attachment | null): void {
    if (typeof value === "string") this.#addText(value, within);
    else if (typeof value === "number") this.tokens += 3;
    else if (typeof value !== "object" || value === null) this.tokens += 1;
    else if (!Array.isArray(value)) this.addObject(value, within);
    else for (const item of value) this.#add(item, within);
  }

  #addText(text: string, within: Attachment | null): void {
    if (within === null || text.length < shortestBinary || !looksEncoded(text)) {
      this.textBytes += Buffer.byteLength(text);
    } else if (within === "document") {
      this.tokens += (text.length / base64CharsPerPage) * pageTokens;
    } else if (within === "audio") {
      this.tokens += text.length / base64CharsPerAudioToken;
    }
  }
}

const base64Start = /^[A-Za-z0-9+/_=\r\n-]{256}/;

/** Documents also come as plain text under the same names, and that is counted as text. */
function looksEncoded(text: string): boolean {
  return text.startsWith("data:") || base64Start.test(text);
}
