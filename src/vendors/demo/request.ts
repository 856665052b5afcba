import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { countPieces } from "./pieces.ts";

/** A request of any dialect, as far as the demo cares. */
export interface DemoRequest {
  readonly model: string;
  readonly stream: boolean;
  /** The last thing that the user said. */
  readonly text: string;
  /** What a tool gave back, when that is what came last. */
  readonly toolResult: string | null;
  readonly tools: readonly DemoTool[];
  /** A tool's name; `any`: some tool; `none`: no tool; `auto`: as it seems fit. */
  readonly toolChoice: string;
  readonly thinks: boolean;
  readonly maxTokens: number | null;
  /** Where the answer ends, if it gets there. */
  readonly stops: readonly string[];
  /** How many answers are asked for. */
  readonly choices: number;
  /** What is asked for that the demo cannot do; null if there is nothing. */
  readonly refusal: DemoRefusal | null;
  /** The JSON schema that the answer must follow; an empty one when any JSON will do. */
  readonly schema: JsonObject | null;
  readonly inputTokens: number;
  readonly wantsStreamUsage: boolean;
  /** What the answer repeats of the request, in the dialect that does so. */
  readonly echo?: JsonObject;
}

/** A field that would change what the answer means. */
export interface DemoRefusal {
  readonly message: string;
  readonly param: string;
  readonly code: string;
}

export function noLogprobs(param: string): DemoRefusal {
  const message = "The demo is no model, so its words have no probabilities; leave them out.";
  return { message, param, code: "unsupported_parameter" };
}

export interface DemoTool {
  readonly name: string;
  readonly schema: JsonObject;
}

const tokensPerMessage = 4;
const tokensPerPicture = 300;

/** Counts everything that a model would read: all texts, wherever they stand, and pictures at a fixed size. */
export function inputTokensOf(...parts: (Json | undefined)[]): number {
  let tokens = 0;
  for (const part of parts) {
    if (typeof part === "string") tokens += countPieces(part);
    else if (Array.isArray(part)) tokens += tokensOfAll(part) + part.length * tokensPerMessage;
    else if (isObject(part)) tokens += isPicture(part) ? tokensPerPicture : tokensOfAll(Object.values(part));
  }
  return tokens;
}

/** One by one: a list may have more items than a call takes arguments. */
function tokensOfAll(parts: readonly (Json | undefined)[]): number {
  let tokens = 0;
  for (const part of parts) tokens += inputTokensOf(part);
  return tokens;
}

function isPicture(part: JsonObject): boolean {
  return part["type"] === "image" || part["type"] === "image_url" || part["type"] === "input_image";
}

/** The text of content in any of the dialects' forms: a string, or blocks of which some have text. */
export function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((block) =>
    isObject(block) && typeof block["text"] === "string" ? block["text"] : "",
  );
  return texts.filter((text) => text !== "").join("\n");
}

export function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function objectOr(value: Json | undefined, fallback: JsonObject): JsonObject {
  return isObject(value) ? value : fallback;
}

export function wholeNumberOr(value: Json | undefined, fallback: number | null): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : fallback;
}

export function textsIn(value: Json | undefined): string[] {
  const texts = Array.isArray(value) ? value : [value];
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}
