import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { repeated, spellings } from "../base/proto-json.ts";
import { type Attachment, attachmentOf, isMeasured, secondsOfAudio } from "./attachments.ts";
import { type GooglePlace, googlePlace, mediumBlock, toolsIn } from "./google-contents.ts";

/** Role markers and separators that vendors add around a message, an item or a content block. */
const tokensPerObject = 4;
const tokensPerTool = 12;
/** Anthropic puts a system prompt of about this size in front of any tools. */
const toolsPreamble = 350;

/** The maximum of an image: Claude reads up to 2576 pixels, and OpenAI all of them if requested. */
const maxImageTokens = 4800;
const maxOriginalImageTokens = 12_000;
/** A page of a document, as text and image together. The usual number of pages is derived from the size. */
export const pageTokens = 3000;
const base64CharsPerPage = 100_000;
/** Sign, 21 digits in groups of three, point and exponent. */
const maxNumberTokens = 12;
/** Google's; OpenAI's are 10. */
const audioTokensPerSecond = 32;

/** Shorter strings are counted as text even if they are binary: it makes little difference. */
const minBinaryLength = 256;

/** Where a text is found: in an attachment, in a text that belongs to one, or elsewhere. */
type ContainerKind = Attachment | "text" | null;

/** Members of a body in which nothing is an attachment: schemas, whose names are the caller's. */
const withoutAttachments: ReadonlySet<string> = new Set([
  ...["tools", "functions", "response_format", "text", "output_config", "output_format"],
  ...spellings(["generationConfig"]),
]);

/** Adds up one walk through a body, without allocating. */
export class InputWalk {
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

  static ofBody(body: JsonObject): InputWalk {
    const walked = new InputWalk();
    walked.#addBody(body);
    const count = toolCount(body["tools"]);
    if (count > 0) walked.tokens += toolsPreamble + count * tokensPerTool;
    return walked;
  }

  static ofBlock(block: JsonObject): InputWalk {
    const walked = new InputWalk();
    walked.#addObject(block, null);
    return walked;
  }

  #addBody(body: JsonObject): void {
    this.tokens += tokensPerObject;
    for (const name in body) {
      this.textBytes += name.length;
      const place = withoutAttachments.has(name) ? "text" : googlePlace(name, "request");
      if (place === null) this.#add(body[name], null);
      else this.#addAt(place, body[name]);
    }
  }

  /** In Google's form, and in what is text wherever it is. */
  #addAt(place: GooglePlace, value: Json | undefined): void {
    if (Array.isArray(value)) for (const item of value) this.#addAt(place, item);
    else if (!isObject(value)) this.#add(value, null);
    else if (place === "request") this.#addBody(value);
    else if (place === "medium") this.#addObject(mediumBlock(value), null);
    else {
      this.tokens += tokensPerObject;
      for (const name in value) {
        this.textBytes += name.length;
        this.#addAt(googlePlace(name, place) ?? "text", value[name]);
      }
    }
  }

  #addObject(object: JsonObject, within: ContainerKind): void {
    const { type } = object;
    // Within an attachment, this type is its source.
    const attachment = type === "file" && within !== null ? null : attachmentOf(type);
    if (attachment !== null) this.#addAttachment(attachment, object);
    this.tokens += tokensPerObject;
    const innerKind = attachment ?? (within !== null && isText(type) ? "text" : within);
    const isCall = typeof type === "string" && type.endsWith("tool_use");
    for (const name in object) {
      this.textBytes += name.length;
      if (isCall && name === "input") this.#addAt("text", object[name]);
      else this.#add(object[name], innerKind);
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
    else if (!Array.isArray(value)) this.#addObject(value, within);
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

function toolCount(tools: Json | undefined): number {
  if (!Array.isArray(tools) && !isObject(tools)) return 0;
  return repeated(tools).reduce<number>((sum, tool) => sum + toolsIn(tool), 0);
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
