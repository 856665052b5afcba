import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { type Attachment, attachmentOf, isMeasured, secondsOfAudio } from "./attachments.ts";

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

/** What an image usually costs, and the most: Claude reads up to 2576 pixels, and OpenAI all there are if it is asked to. */
export const imageTokens = 1600;
const mostImageTokens = 4800;
const mostOriginalImageTokens = 12_000;
/** A page of a document, as text and image together. What it usually has of them is derived from its size. */
const pageTokens = 3000;
const base64CharsPerPage = 100_000;
/** The most that vendors take, which is Google's limit of a thousand pages. The model's window is nearly always less. */
const mostDocumentTokens = 1000 * pageTokens;
/** Google's; OpenAI's are 10. */
const audioTokensPerSecond = 32;

/** Shorter strings are counted as text, whatever they are: it makes little difference. */
const minBinaryLength = 256;

/** Where a text is found: in an attachment, in a text that belongs to one, or elsewhere. */
type Within = Attachment | "text" | null;

/** An estimate of a request's input. */
export interface InputEstimate {
  /** At or above the real count, but for attachments whose tokens nothing bounds. */
  readonly tokens: number;
  /** How many of those there are. */
  readonly unmeasured: number;
}

/** The most that the input may be. A provider refuses what is above the model's window. */
export function mostInput({ tokens, unmeasured }: InputEstimate, contextWindow: number | null): number {
  const most = tokens + unmeasured * mostDocumentTokens;
  return contextWindow === null ? most : Math.max(tokens, Math.min(most, contextWindow));
}

/** Estimates the input tokens of a body in any dialect. */
export function estimateInput(body: JsonObject): InputEstimate {
  return walk(body).result(0);
}

/**
 * The same for a body whose long texts were truncated by `cutBytes` in all. Null if it has attachments: their cost depends
 * on their whole text, so the whole body is needed.
 */
export function estimateTruncatedInput(body: JsonObject, cutBytes: number): InputEstimate | null {
  const walked = walk(body);
  return walked.hasAttachments && cutBytes > 0 ? null : walked.result(cutBytes);
}

/** What an attachment alone costs at most, without the names and addresses around it. */
export function estimateAttachment(block: JsonObject): number {
  const { attachedTokens, unmeasured } = walk(block);
  return Math.ceil(attachedTokens + unmeasured * mostDocumentTokens);
}

/** Estimates the tokens of a text in the same way, where no better count is available. */
export function estimateText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

function walk(body: JsonObject): Walk {
  const walked = new Walk();
  walked.addObject(body, null);
  const tools = body["tools"];
  if (Array.isArray(tools) && tools.length > 0) {
    walked.tokens += toolsPreamble + tools.length * tokensPerTool;
  }
  return walked;
}

/** Adds up one walk through a body, without allocating. */
class Walk {
  textBytes = 0;
  /** Everything that is not measured by the length of its text, but for attachments. */
  tokens = 0;
  attachedTokens = 0;
  hasAttachments = false;
  unmeasured = 0;

  result(cutBytes: number): InputEstimate {
    const tokens = this.tokens + this.attachedTokens + (this.textBytes + cutBytes) / bytesPerToken;
    return { tokens: Math.ceil(tokens), unmeasured: this.unmeasured };
  }

  addObject(object: JsonObject, within: Within): void {
    const { type } = object;
    // Within an attachment it is where that comes from.
    const attachment = type === "file" && within !== null ? null : attachmentOf(type);
    if (attachment !== null) this.#addAttachment(attachment, object);
    this.tokens += tokensPerObject;
    const inside = attachment ?? (within !== null && isText(type) ? "text" : within);
    for (const name in object) {
      this.textBytes += name.length;
      this.#add(object[name], inside);
    }
  }

  #addAttachment(kind: Attachment, block: JsonObject): void {
    this.hasAttachments = true;
    if (!isMeasured[kind](block)) this.unmeasured += 1;
    if (kind === "image")
      this.attachedTokens += imageDetail(block) === "original" ? mostOriginalImageTokens : mostImageTokens;
    else if (kind === "document") this.attachedTokens += pageTokens;
    else this.attachedTokens += (secondsOfAudio(block) ?? 0) * audioTokensPerSecond;
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
  if (within !== "document") return 0;
  if (encodedText.test(text)) return (text.length * bytesPerBase64Char) / bytesPerToken;
  return (text.length / base64CharsPerPage) * pageTokens;
}

function imageDetail({ detail, image_url: image }: JsonObject): Json | undefined {
  return isObject(image) ? image["detail"] : detail;
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
