import type { Json, JsonObject } from "../base/json.ts";

/**
 * Estimates a request's input tokens for its hold, without a tokenizer. The estimate should be at or above the real count
 * for ordinary text, and is never charged. Measured with real tokenizers: English prose has 4 to 5 bytes per token, code
 * 3 to 3.5, Chinese and Japanese about 3, and dense JSON 2.5, which is therefore the bound.
 */
const bytesPerToken = 2.5;
/** Role markers and separators that vendors add around a message, an item or a content block. */
const tokensPerObject = 4;
const tokensPerTool = 12;
/** Anthropic puts a system prompt of about this size in front of any tools. */
const toolsPreamble = 350;

/** The most that an image costs with the vendors' default settings. */
export const imageTokens = 1600;
/** A page of a document, as text and image together. The number of pages is derived from the size. */
const pageTokens = 3000;
const base64CharsPerPage = 100_000;
const base64CharsPerAudioToken = 400;
/** For what is only named by its address: ten minutes of speech, or one of video. */
const linkedMediaTokens = 20_000;

/** Shorter strings are counted as text, whatever they are: it makes little difference. */
const minBinaryLength = 256;

export type Attachment = "image" | "document" | "audio" | "media";

/** Where a text is found: in an attachment, in a text that belongs to one, or elsewhere. */
type Within = Attachment | "text" | null;

/** Null for what is read as text. */
export function attachmentOf(type: Json | undefined): Attachment | null {
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
    case "audio_url":
    case "video_url":
    case "input_video":
      return "media";
    default:
      return null;
  }
}

/** Estimates the input tokens of a body in any dialect. */
export function estimateInput(body: JsonObject): number {
  return walk(body).total(0);
}

/**
 * The same for a body whose long texts were truncated by `cutBytes` in all. Null if it has attachments: their cost depends
 * on their whole text, so the whole body is needed.
 */
export function estimateTruncatedInput(body: JsonObject, cutBytes: number): number | null {
  const estimate = walk(body);
  return estimate.hasAttachments && cutBytes > 0 ? null : estimate.total(cutBytes);
}

/** What an attachment alone costs, by its kind and size, without the names and addresses around it. */
export function estimateAttachment(block: JsonObject): number {
  return Math.ceil(walk(block).attachedTokens);
}

/** Estimates the tokens of a text in the same way, where no better count is available. */
export function estimateText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

function walk(body: JsonObject): InputEstimate {
  const estimate = new InputEstimate();
  estimate.addObject(body, null);
  const tools = body["tools"];
  if (Array.isArray(tools) && tools.length > 0) {
    estimate.tokens += toolsPreamble + tools.length * tokensPerTool;
  }
  return estimate;
}

/** Adds up one walk through a body, without allocating. */
class InputEstimate {
  textBytes = 0;
  /** Everything that is not measured by the length of its text, but for attachments. */
  tokens = 0;
  attachedTokens = 0;
  hasAttachments = false;

  total(cutBytes: number): number {
    return Math.ceil(this.tokens + this.attachedTokens + (this.textBytes + cutBytes) / bytesPerToken);
  }

  addObject(object: JsonObject, within: Within): void {
    const attachment = attachmentOf(object["type"]);
    if (attachment !== null) this.hasAttachments = true;
    if (attachment === "image") this.attachedTokens += imageTokens;
    if (attachment === "document") this.attachedTokens += pageTokens;
    if (attachment === "media") this.attachedTokens += linkedMediaTokens;
    this.tokens += tokensPerObject;
    const inside = attachment ?? (within !== null && isText(object["type"]) ? "text" : within);
    for (const name in object) {
      this.textBytes += name.length;
      this.#add(object[name], inside);
    }
  }

  #add(value: Json | undefined, within: Within): void {
    if (typeof value === "string") this.#addText(value, within);
    else if (typeof value === "number") this.tokens += 3;
    else if (typeof value !== "object" || value === null) this.tokens += 1;
    else if (!Array.isArray(value)) this.addObject(value, within);
    else for (const item of value) this.#add(item, within);
  }

  #addText(text: string, within: Within): void {
    if (within === null || text.length < minBinaryLength) this.textBytes += Buffer.byteLength(text);
    else this.attachedTokens += attachedTokens(text, within);
  }
}

function attachedTokens(text: string, within: NonNullable<Within>): number {
  if (within === "text" || !looksEncoded(text)) return Buffer.byteLength(text) / bytesPerToken;
  switch (within) {
    case "image":
      return 0;
    case "document":
      if (encodedText.test(text)) return (text.length * bytesPerBase64Char) / bytesPerToken;
      return (text.length / base64CharsPerPage) * pageTokens;
    case "audio":
    case "media":
      return text.length / base64CharsPerAudioToken;
  }
}

/** The provider takes the content of such an object for text, whatever it looks like. */
function isText(type: Json | undefined): boolean {
  return type === "text" || type === "input_text";
}

const encodedText = /^data:(?:text\/|application\/(?:json|xml|yaml))/;
const bytesPerBase64Char = 3 / 4;
const base64Start = /^[A-Za-z0-9+/_=\r\n-]{256}/;

/** Documents may also be plain text under the same names, and are then counted as text. */
function looksEncoded(text: string): boolean {
  return text.startsWith("data:") || base64Start.test(text);
}
