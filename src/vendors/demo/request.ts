import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { objectOf, objectsOf, stringOf } from "../../dialects/json/json-fields.ts";
import { countPieces } from "./pieces.ts";

/** A chat request, as far as the demo cares. */
export interface DemoRequest {
  readonly stream: boolean;
  /** The user's last text. */
  readonly text: string;
  /** The tool's result, if it is the last message. */
  readonly toolResult: string | null;
  readonly tools: readonly DemoTool[];
  /** A tool's name; `any`: some tool; `none`: no tool; `auto`: the demo decides. */
  readonly toolChoice: string;
  readonly thinks: boolean;
  readonly maxTokens: number | null;
  /** Sequences at which the response ends. */
  readonly stops: readonly string[];
  /** Number of requested choices. */
  readonly choices: number;
  /** The JSON schema that the response must follow; an empty one if any JSON will do. */
  readonly schema: JsonObject | null;
  readonly inputTokens: number;
}

export interface DemoTool {
  readonly name: string;
  readonly schema: JsonObject;
}

export function readDemoRequest(body: JsonObject): DemoRequest {
  const turns = objectsOf(body["messages"]);
  const lastUser = turns.findLast((turn) => turn["role"] === "user");
  const last = turns.at(-1);
  return {
    stream: body["stream"] === true,
    text: textOf(lastUser?.["content"]),
    toolResult: last?.["role"] === "tool" ? textOf(last["content"]) : null,
    tools: objectsOf(body["tools"]).flatMap(toolOf),
    toolChoice: toolChoiceOf(body["tool_choice"]),
    thinks: thinksFor(body),
    maxTokens: wholeNumberOf(body["max_completion_tokens"]) ?? wholeNumberOf(body["max_tokens"]),
    stops: textsIn(body["stop"]),
    choices: wholeNumberOf(body["n"]) ?? 1,
    schema: schemaOf(body),
    inputTokens: inputTokensOf(body["messages"], body["tools"]),
  };
}

/** Tools that take free text are not called. */
function toolOf({ function: described }: JsonObject): DemoTool[] {
  if (!isObject(described) || typeof described["name"] !== "string") return [];
  return [{ name: described["name"], schema: objectOf(described["parameters"]) ?? {} }];
}

function toolChoiceOf(choice: Json | undefined): string {
  if (choice === "required") return "any";
  if (typeof choice === "string") return choice;
  if (!isObject(choice)) return "auto";
  return stringOf(objectOf(choice["function"])?.["name"]) ?? "auto";
}

function thinksFor(body: JsonObject): boolean {
  const effort = body["reasoning_effort"];
  // A translated request has a switch instead: see the vendor's quirks.
  return (
    (typeof effort === "string" && effort !== "none") || objectOf(body["thinking"])?.["type"] === "enabled"
  );
}

function schemaOf({ response_format: format }: JsonObject): JsonObject | null {
  if (!isObject(format) || format["type"] === "text") return null;
  return objectOf(objectOf(format["json_schema"])?.["schema"]) ?? {};
}

const tokensPerMessage = 4;
const tokensPerPicture = 300;

/** Counts everything that a model would read: all texts, at any depth, and images at a fixed size. */
function inputTokensOf(...parts: (Json | undefined)[]): number {
  let tokens = 0;
  for (const part of parts) {
    if (typeof part === "string") tokens += countPieces(part);
    else if (Array.isArray(part)) tokens += tokensOfAll(part) + part.length * tokensPerMessage;
    else if (isObject(part)) tokens += isPicture(part) ? tokensPerPicture : tokensOfAll(Object.values(part));
  }
  return tokens;
}

/** Added one by one: a list may have more items than a call accepts arguments. */
function tokensOfAll(parts: readonly (Json | undefined)[]): number {
  let tokens = 0;
  for (const part of parts) tokens += inputTokensOf(part);
  return tokens;
}

function isPicture(part: JsonObject): boolean {
  return part["type"] === "image_url";
}

/** The text of content: a string, or the text of its parts. */
function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  const texts = objectsOf(content).map(({ text }) => (typeof text === "string" ? text : ""));
  return texts.filter((text) => text !== "").join("\n");
}

export function wholeNumberOf(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}

function textsIn(value: Json | undefined): string[] {
  const texts = Array.isArray(value) ? value : [value];
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}
