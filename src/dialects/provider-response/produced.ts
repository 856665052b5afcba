import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { IrEvent } from "../ir/ir.ts";
import { objectOf, stringOf } from "../json/json-fields.ts";

/** Fields whose values the model wrote, unlike ids and types. */
const written = new Set([
  "content",
  "text",
  "thinking",
  "reasoning_content",
  "reasoning_text",
  "reasoning",
  "refusal",
  "name",
  "arguments",
  "input",
  "transcript",
  "code",
  "summary",
]);

/** Tool results and quoted sources. */
const quoted = new Set([
  ...["annotations", "citations", "results", "output", "outputs", "sources"],
  "groundingMetadata",
]);

/** Arguments of a call, all of which the model wrote. */
const callArguments = new Set(["input", "arguments", "args"]);

/** Fields with a call's actions, all of which the model wrote, such as the words of a command. */
const acted = new Set(["action", "actions", "operation"]);
/** Names of things, and not what the model wrote. */
const labels = new Set(["type", "id"]);

/** Encrypted reasoning takes 5 to 6 characters a token, and there is an envelope around it. So this counts too little. */
export const encryptedCharsPerToken = 16;

/** Stands for an image until the provider reports its tokens: Google bills 1,290 for one. */
export const encryptedCharsPerImage = 1290 * encryptedCharsPerToken;

/** All text that the model wrote in a response or a part of one, in any provider's format. */
export function writtenText(value: Json | undefined): string {
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += writtenText(item);
  } else if (isObject(value)) {
    for (const name in value) {
      const member = value[name];
      if (typeof member === "string") text += written.has(name) ? member : "";
      else if (typeof member === "object" && member !== null) text += nestedText(name, member, value);
    }
  }
  return text;
}

/**
 * The text that an event of a stream adds, in any dialect's form, or in a server's own form, whose events have no
 * types. A provider that streams in another dialect than requested is passed on until its stream fails, and the text
 * that the client read is not free.
 */
export function streamedText(event: JsonObject): string {
  const { type, delta, choices, candidates } = event;
  if (Array.isArray(choices))
    return choices.map((choice) => writtenText(objectOf(choice)?.["delta"])).join("");
  if (Array.isArray(candidates)) return writtenText(candidates);
  if (typeof type !== "string") return writtenText(event);
  if (!type.endsWith("delta")) return "";
  return stringOf(delta) ?? stringOf(objectOf(delta)?.["partial_json"]) ?? writtenText(delta);
}

function nestedText(name: string, value: Json[] | JsonObject, within: JsonObject): string {
  if (quoted.has(name)) return "";
  if (acted.has(name)) return allText(value);
  if (callArguments.has(name) && !Array.isArray(value)) return JSON.stringify(value);
  // OpenRouter repeats there what is in `reasoning`.
  if (name === "reasoning_details" && typeof within["reasoning"] === "string") return "";
  return writtenText(value);
}

function allText(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(allText).join("");
  if (!isObject(value)) return "";
  return Object.entries(value)
    .map(([name, member]) => (labels.has(name) || quoted.has(name) ? "" : allText(member)))
    .join("");
}

/** All text in the events of a non-streaming response. */
export function producedBy(events: readonly IrEvent[]): string {
  let produced = "";
  for (const event of events) {
    if (event.type === "delta") produced += event.text;
    else if (event.type === "block_start" && event.block.type === "tool_call") produced += event.block.name;
  }
  return produced;
}

/** A short text takes ten times the memory of its letters, so they are joined now and then. */
const maxTexts = 256;

/** Text that a stream has produced and that is not counted yet. */
export class ProducedText {
  #texts: string[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(text: string): void {
    if (text === "") return;
    if (this.#texts.length >= maxTexts) this.#texts = [this.#texts.join("")];
    this.#texts.push(text);
    this.#length += text.length;
  }

  /** Returns the text since the last call. */
  take(): string {
    const text = this.#texts.join("");
    this.#texts = [];
    this.#length = 0;
    return text;
  }
}
