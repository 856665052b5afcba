import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { type Attachment, attachmentOf, isMeasured, secondsOfAudio } from "./attachments.ts";

/**
 * Estimates a request's input tokens without a tokenizer, in two ways that are never charged.
 *
 * `atMost` is for holds. Tokenizers work on bytes, so a text has at most one token per byte. Nothing lower holds for every
 * text: digits with blanks between them, private-use characters, Yi, cuneiform, rare ideographs, punctuation and runs such as
 * "qzjq" all reach one token per byte, and lowercase letters without j, q, x, z, k and g still reach two tokens for three. So
 * the bound is the request's own length, which costs nothing to find. Where that is too much to hold, the input is counted.
 *
 * `tokens` is what ordinary text has at most. Measured with real tokenizers: English prose has 4 to 5 bytes per token, code 3
 * to 3.5, Chinese and Japanese about 3, and dense JSON 2.5.
 */
const bytesPerToken = 2.5;
/** Role markers and separators that vendors add around a message, an item or a content block. */
const tokensPerObject = 4;
const tokensPerTool = 12;
/** Anthropic puts a system prompt of about this size in front of any tools. */
const toolsPreamble = 350;

/** The usual tokens of an image, and the maximum: Claude reads up to 2576 pixels, and OpenAI all of them if requested. */
export const imageTokens = 1600;
const maxImageTokens = 4800;
const maxOriginalImageTokens = 12_000;
/** A page of a document, as text and image together. The usual number of pages is derived from the size. */
const pageTokens = 3000;
const base64CharsPerPage = 100_000;
/** The maximum that vendors accept: Google's limit of a thousand pages. The model's context window is nearly always less. */
const maxDocumentTokens = 1000 * pageTokens;
/** Sign, 21 digits in groups of three, point and exponent. */
const maxNumberTokens = 12;
/** Google's; OpenAI's are 10. */
const audioTokensPerSecond = 32;

/** Shorter strings are counted as text even if they are binary: it makes little difference. */
const minBinaryLength = 256;

/** Where a text is found: in an attachment, in a text that belongs to one, or elsewhere. */
type ContainerKind = Attachment | "text" | null;

/** An estimate of a request's input. */
export interface InputEstimate {
  /** At or above the real count for ordinary text. */
  readonly tokens: number;
  /** At or above the real count for any text, except attachments whose tokens are unbounded. */
  readonly atMost: number;
  /** Number of attachments whose tokens are unbounded. */
  readonly unmeasured: number;
}

/** The upper bound of the input. A provider rejects requests above the model's context window. */
export function maxInputTokens(
  { tokens, atMost, unmeasured }: InputEstimate,
  contextWindow: number | null,
): number {
  const max = atMost + unmeasured * maxDocumentTokens;
  return contextWindow === null ? max : Math.max(tokens, Math.min(max, contextWindow));
}

/** Estimates the input tokens of a body of `sentBytes` bytes, in any dialect. */
export function estimateInput(body: JsonObject, sentBytes: number): InputEstimate {
  return walk(body).result(sentBytes, 0);
}

/**
 * Estimates a body whose long texts were truncated by `cutBytes` in all. Null if it has attachments: their cost depends
 * on their whole text, so the whole body is needed.
 */
export function estimateTruncatedInput(
  body: JsonObject,
  sentBytes: number,
  cutBytes: number,
): InputEstimate | null {
  const walked = walk(body);
  return walked.hasAttachments && cutBytes > 0 ? null : walked.result(sentBytes, cutBytes);
}

/** The upper bound of an attachment alone, without the names and addresses around it. */
export function estimateAttachment(block: JsonObject): number {
  const { attachedTokens, attachedTextBytes, decodedBytes, unmeasured } = walk(block);
  return Math.ceil(attachedTokens + attachedTextBytes + decodedBytes + unmeasured * maxDocumentTokens);
}

/** Estimates the tokens of an ordinary text, where no better count is available. */
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
  /** Bytes of text in attachments. */
  attachedTextBytes = 0;
  /** Text in attachments that was sent encoded. */
  decodedBytes = 0;
  /** Characters of encoded attachments, which the model does not read as text. */
  encodedChars = 0;
  /** Everything that is not measured by the length of its text, but for attachments. */
  tokens = 0;
  /** Tokens of long numbers beyond their share of the other counters. */
  moreOfNumbers = 0;
  attachedTokens = 0;
  hasAttachments = false;
  unmeasured = 0;

  result(sentBytes: number, cutBytes: number): InputEstimate {
    const without = this.tokens + this.attachedTokens;
    const textBytes = this.textBytes + this.attachedTextBytes + this.decodedBytes + cutBytes;
    const sentText = Math.max(0, sentBytes - this.encodedChars) + this.decodedBytes;
    return {
      tokens: Math.ceil(without + textBytes / bytesPerToken),
      atMost: Math.ceil(without + this.moreOfNumbers + sentText),
      unmeasured: this.unmeasured,
    };
  }

  addObject(object: JsonObject, within: ContainerKind): void {
    const { type } = object;
    // Within an attachment, this type is its source.
    const attachment = type === "file" && within !== null ? null : attachmentOf(type);
    if (attachment !== null) this.#addAttachment(attachment, object);
    this.tokens += tokensPerObject;
    const innerKind = attachment ?? (within !== null && isText(type) ? "text" : within);
    for (const name in object) {
      this.textBytes += name.length;
      this.#add(object[name], innerKind);
    }
  }

  #addAttachment(kind: Attachment, block: JsonObject): void {
    this.hasAttachments = true;
    if (!isMeasured[kind](block)) this.unmeasured += 1;
    if (kind === "image")
      this.attachedTokens += imageDetail(block) === "original" ? maxOriginalImageTokens : maxImageTokens;
    else if (kind === "document") this.attachedTokens += pageTokens;
    else this.attachedTokens += (secondsOfAudio(block) ?? 0) * audioTokensPerSecond;
  }

  #add(value: Json | undefined, within: ContainerKind): void {
    if (typeof value === "string") this.#addText(value, within);
    else if (typeof value === "number") this.#addNumber(value);
    else if (typeof value !== "object" || value === null) this.tokens += 1;
    else if (!Array.isArray(value)) this.addObject(value, within);
    else for (const item of value) this.#add(item, within);
  }

  /** The model may read a number in another form than it was sent in: `1e20` is 21 digits. */
  #addNumber(value: number): void {
    this.tokens += 3;
    if (value > 9999 || value < -9999) this.moreOfNumbers += maxNumberTokens;
  }

  #addText(text: string, within: ContainerKind): void {
    if (within === null || text.length < minBinaryLength) this.textBytes += Buffer.byteLength(text);
    else this.#addAttachedText(text, within);
  }

  #addAttachedText(text: string, within: NonNullable<ContainerKind>): void {
    if (within === "text" || !looksEncoded(text)) {
      this.attachedTextBytes += Buffer.byteLength(text);
      return;
    }
    this.encodedChars += text.length;
    if (within !== "document") return;
    if (encodedText.test(text)) this.decodedBytes += Math.ceil(text.length * bytesPerBase64Char);
    else this.attachedTokens += (text.length / base64CharsPerPage) * pageTokens;
  }
}

function imageDetail({ detail, image_url: image }: JsonObject): Json | undefined {
  return isObject(image) ? image["detail"] : detail;
}

/** Whether the provider treats the content of such an object as text, even if it looks like something else. */
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
