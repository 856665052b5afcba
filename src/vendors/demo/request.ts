import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { objectOf, objectsOf } from "../../dialects/json/json-fields.ts";
import { countPieces } from "./pieces.ts";

/** A request of any dialect, as far as the demo cares. */
export interface DemoRequest {
  readonly stream: boolean;
  /** The user's last text. */
  readonly text: string;
  /** The tool's result, if that came last. */
  readonly toolResult: string | null;
  readonly tools: readonly DemoTool[];
  /** A tool's name; `any`: some tool; `none`: no tool; `auto`: the demo decides. */
  readonly toolChoice: string;
  readonly thinks: boolean;
  readonly maxTokens: number | null;
  /** Where the answer ends, if it gets there. */
  readonly stops: readonly string[];
  /** How many answers are asked for. */
  readonly choices: number;
  /** The JSON schema that the answer must follow; an empty one when any JSON will do. */
  readonly schema: JsonObject | null;
  readonly inputTokens: number;
}

export interface DemoTool {
  readonly name: string;
  readonly schema: JsonObject;
}

/**
 * Reads a request of any dialect by the names that they use for the same thing. It is more lenient than the dialects'
 * own readers, because a large body arrives here with its long strings truncated.
 */
export function readDemoRequest(body: JsonObject): DemoRequest {
  const { input } = body;
  const turns = objectsOf(body["messages"] ?? input);
  const lastUser = turns.findLast((turn) => turn["role"] === "user");
  return {
    stream: body["stream"] === true,
    text: typeof input === "string" ? input : textOf(lastUser?.["content"]),
    toolResult: toolResultOf(turns.at(-1)),
    tools: objectsOf(body["tools"]).flatMap(toolOf),
    toolChoice: toolChoiceOf(body["tool_choice"]),
    thinks: thinksFor(body),
    maxTokens:
      wholeNumberOf(body["max_completion_tokens"]) ??
      wholeNumberOf(body["max_tokens"]) ??
      wholeNumberOf(body["max_output_tokens"]),
    stops: [...textsIn(body["stop"]), ...textsIn(body["stop_sequences"])],
    choices: wholeNumberOf(body["n"]) ?? 1,
    schema: schemaOf(body),
    inputTokens: inputTokensOf(body["instructions"], body["system"], body["messages"], input, body["tools"]),
  };
}

/** A message of a tool on chat, an item on responses, a block of the user's turn on messages. */
function toolResultOf(last: JsonObject | undefined): string | null {
  if (last === undefined) return null;
  if (last["role"] === "tool") return textOf(last["content"]);
  if (last["type"] === "function_call_output") return textOf(last["output"]);
  const block = objectsOf(last["content"]).find(({ type }) => type === "tool_result");
  return block === undefined ? null : textOf(block["content"]);
}

/** Only tools with a schema of the client's own, which are the ones that it runs. */
function toolOf(tool: JsonObject): DemoTool[] {
  const described = objectOf(tool["function"]) ?? tool;
  const { name } = described;
  const schema = described["parameters"] ?? described["input_schema"];
  if (typeof name !== "string" || !(isObject(schema) || tool["type"] === "function")) return [];
  return [{ name, schema: objectOf(schema) ?? {} }];
}

function toolChoiceOf(choice: Json | undefined): string {
  if (choice === "required") return "any";
  if (typeof choice === "string") return choice;
  if (!isObject(choice)) return "auto";
  const named = choice["name"] ?? objectOf(choice["function"])?.["name"];
  return typeof named === "string" ? named : String(choice["type"]);
}

function thinksFor(body: JsonObject): boolean {
  const effort = body["reasoning_effort"];
  const thinking = objectOf(body["thinking"])?.["type"];
  return (
    (typeof effort === "string" && effort !== "none") ||
    typeof objectOf(body["reasoning"])?.["summary"] === "string" ||
    thinking === "enabled" ||
    thinking === "adaptive"
  );
}

function schemaOf(body: JsonObject): JsonObject | null {
  const format =
    body["response_format"] ??
    objectOf(body["text"])?.["format"] ??
    objectOf(body["output_config"])?.["format"];
  if (!isObject(format) || format["type"] === "text") return null;
  return objectOf(format["schema"]) ?? objectOf(objectOf(format["json_schema"])?.["schema"]) ?? {};
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
function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  const texts = objectsOf(content).map(({ text }) => (typeof text === "string" ? text : ""));
  return texts.filter((text) => text !== "").join("\n");
}

export function wholeNumberOf(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : null;
}

export function textsIn(value: Json | undefined): string[] {
  const texts = Array.isArray(value) ? value : [value];
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}
