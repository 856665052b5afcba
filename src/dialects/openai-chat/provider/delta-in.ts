import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { isDisguised } from "../../errors/error-body.ts";
import type { IrCitation, ReasoningSignature } from "../../ir/ir.ts";
import {
  isZero,
  listOf,
  nonEmpty,
  objectOf,
  objectsOf,
  parseObject,
  stringOf,
} from "../../json/json-fields.ts";
import { readCitations } from "../../openai/citations.ts";
import { IdCollector } from "../../provider-response/id-collector.ts";
import { encryptedCharsPerImage } from "../../provider-response/produced.ts";
import { dataOf } from "../../sse/event.ts";
import { customPart, signatureIn } from "../tool-call.ts";

/** Reads fields that chat providers name differently, in messages and deltas alike. */

/** OpenAI wraps the error in an envelope, vLLM does not, and Ollama's may be a text. */
export function isFailure(body: JsonObject): boolean {
  const { error } = body;
  return (
    (isObject(error) && !isZero(error)) ||
    (typeof error === "string" && error !== "") ||
    body["object"] === "error" ||
    isDisguised(body)
  );
}

/**
 * `reasoning_content` (DeepSeek, Qwen, vLLM), `reasoning` (OpenRouter, Groq), `reasoning_details` (MiniMax),
 * or parts of the content (Mistral).
 */
export function reasoningOf(message: JsonObject): string {
  const plain = stringOf(message["reasoning_content"]) ?? stringOf(message["reasoning"]);
  if (plain !== null) return plain;
  if (!Array.isArray(message["reasoning_details"]) && !Array.isArray(message["content"])) return "";
  const details = objectsOf(message["reasoning_details"]).map((part) => textIn(part["text"]));
  const parts = objectsOf(message["content"]).filter((part) => part["type"] === "thinking");
  return [...details, ...parts.map((part) => textIn(part["thinking"]))].join("");
}

/** OpenRouter's reasoning in the form that it must be returned in, with the signatures of the model's own provider. */
export function detailsIn(message: JsonObject): JsonObject[] {
  return [...objectsOf(message["reasoning_details"])];
}

/**
 * The length of the reasoning that only its maker can read: OpenRouter's encrypted details, and Gemini's signatures of calls. An image,
 * which has no text either, counts like one.
 */
export function encryptedChars(delta: JsonObject): number {
  let chars = listOf(delta["images"]).length * encryptedCharsPerImage;
  for (const { data, signature } of objectsOf(delta["reasoning_details"])) {
    chars += (stringOf(data)?.length ?? 0) + (stringOf(signature)?.length ?? 0);
  }
  for (const call of objectsOf(delta["tool_calls"])) chars += signatureIn(call)?.length ?? 0;
  return chars;
}

export function chatSignature(details: JsonObject[]): ReasoningSignature {
  return details.length === 0 ? { maker: "chat" } : { maker: "chat", details };
}

/** Null if the server does not report it. */
export function tierIn({ service_tier: tier }: JsonObject): string | null {
  return isZero(tier) ? null : stringOf(tier);
}

export function contentOf(message: JsonObject): string {
  const { content } = message;
  if (typeof content === "string") return content;
  const parts = objectsOf(content).filter((part) => part["type"] === "text");
  return parts.map((part) => textIn(part["text"])).join("");
}

function textIn(value: Json | undefined): string {
  if (typeof value === "string") return value;
  return objectsOf(value)
    .map((part) => stringOf(part["text"]) ?? "")
    .join("");
}

/** Drops spans if the text is only a part of the content, because they count from the start of the whole content. */
export function citationsOf(message: JsonObject, isPartOfContent: boolean): readonly IrCitation[] {
  const citations = readCitations(message["annotations"]);
  return isPartOfContent ? citations.map((citation) => ({ ...citation, span: null })) : citations;
}

/** A call or a fragment of one; fields that a fragment lacks are null. */
export interface CallFragment {
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly input: string;
  readonly custom: boolean;
  /** Gemini's. */
  readonly signature: string | null;
}

const none: readonly CallFragment[] = [];

export function callsOf(message: JsonObject): readonly CallFragment[] {
  const legacy = isZero(message["function_call"]) ? null : objectOf(message["function_call"]);
  const fragments = objectsOf(message["tool_calls"]).filter(saysSomething);
  if (legacy === null && fragments.length === 0) return none;
  const calls = fragments.map(readCall);
  return legacy === null ? calls : [...calls, readCall({ index: 0, function: legacy })];
}

/** More than which call it would be about. */
function saysSomething({ id, function: called, custom, extra_content: extra }: JsonObject): boolean {
  return !(isZero(called) && isZero(id) && isZero(custom) && isZero(extra));
}

function readCall(call: JsonObject): CallFragment {
  const custom = customPart(call);
  const called = custom ?? objectOf(call["function"]) ?? {};
  const input = custom === null ? called["arguments"] : called["input"];
  return {
    index: typeof call["index"] === "number" ? call["index"] : null,
    id: nonEmpty(call["id"]),
    name: nonEmpty(called["name"]),
    input: inputText(input),
    custom: custom !== null,
    signature: signatureIn(call),
  };
}

/** Some providers send the arguments as an object instead of JSON text, or write `null` for none. */
function inputText(input: Json | undefined): string {
  if (input === null || input === undefined || input === "null") return "";
  return typeof input === "string" ? input : JSON.stringify(input);
}

/** Only chunks that match are parsed. Nearly all chunks have content and do not match. */
const mayOpen = /"role"|"choices"\s*:\s*\[\s*\]/;

/** Whether the event is a chunk that only announces the response: one with the role, or Azure's findings about the prompt. */
export function isOpeningChunk(event: string): boolean {
  const chunk = mayOpen.test(event) ? parseObject(dataOf(event)) : null;
  if (chunk === null || !Array.isArray(chunk["choices"]) || isFailure(chunk)) return false;
  // Without choices, usage is what ends a stream.
  if (chunk["choices"].length === 0) return isEmpty(chunk["usage"]);
  return objectsOf(chunk["choices"]).every(isOpeningChoice);
}

function isOpeningChoice({ delta, finish_reason: finish }: JsonObject): boolean {
  if (!isObject(delta) || !isEmpty(finish)) return false;
  return Object.entries(delta).every(([name, value]) => name === "role" || isEmpty(value));
}

function isEmpty(value: Json | undefined): boolean {
  return value == null || value === "" || (Array.isArray(value) && value.length === 0);
}

const noIds: readonly string[] = [];

/** The ids of spoken answers, which a later request may refer to. */
export function issuedIds(answer: JsonObject): readonly string[] {
  let ids: IdCollector | null = null;
  for (const choice of listOf(answer["choices"])) {
    if (!isObject(choice)) continue;
    const audio = (objectOf(choice["message"]) ?? objectOf(choice["delta"]))?.["audio"];
    if (audio === undefined) continue;
    ids ??= new IdCollector();
    ids.addId(audio);
  }
  return ids?.all ?? noIds;
}
