import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { withEllipsis } from "../../base/text/ellipsis.ts";
import { noUsage } from "../../base/usage/usage.ts";
import { writeUsage } from "../../dialects/openai-chat/client/response-out.ts";
import { countPieces, piecesOf } from "./pieces.ts";
import type { DemoRequest, DemoTool } from "./request.ts";
import type { Scenario } from "./scenario.ts";

/** The demo's response, piece by piece. */
export interface DemoResponse extends DemoReply {
  /** Comes before everything else; empty unless requested. */
  readonly thinking: readonly string[];
  /** In the form of chat; null if the request asks for none. */
  readonly usage: JsonObject | null;
}

/** The part after the thinking. */
interface DemoReply {
  /** The name of the called tool; null if it responds in text. */
  readonly tool: string | null;
  /** Its text, or the arguments of the call. */
  readonly pieces: readonly string[];
  readonly finish: "stop" | "length" | "tool_calls";
}

/** With more tools than this the client is an agent, and a tool called at random might do harm. */
const maxToolsToGuess = 3;
const maxQuoteLength = 160;

export function answerTo(request: DemoRequest, scenario: Scenario): DemoResponse {
  const thoughts = `The user wrote ${request.text.length} characters. As a demo I know nothing, so I shall say so kindly.`;
  const thinking = request.thinks ? piecesOf(thoughts) : [];
  const tool = toolFor(request, scenario);
  const reply = tool === null ? textReply(request, scenario, thinking.length) : toolReply(tool, request);
  const replyTokens = countPieces(reply.tool ?? "") + reply.pieces.length;
  const usage = {
    ...noUsage,
    inputTokens: request.inputTokens,
    outputTokens: (thinking.length + replyTokens) * request.choices,
    reasoningTokens: thinking.length * request.choices,
  };
  return { ...reply, thinking, usage: scenario.usage ? writeUsage(usage) : null };
}

function textReply(request: DemoRequest, scenario: Scenario, thinkingTokens: number): DemoReply {
  const allPieces = piecesOf(cutAtStop(replyText(request, scenario), request.stops));
  const pieces = allPieces.slice(0, Math.max(0, (request.maxTokens ?? Infinity) - thinkingTokens));
  return { tool: null, pieces, finish: pieces.length < allPieces.length ? "length" : "stop" };
}

function toolReply(tool: DemoTool, request: DemoRequest): DemoReply {
  const pieces = piecesOf(JSON.stringify(sampleOf(tool.schema, hintIn(request.text))));
  return { tool: tool.name, pieces, finish: "tool_calls" };
}

/** Ends a text before the first stop sequence in it. */
function cutAtStop(text: string, stops: readonly string[]): string {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  return text.slice(0, Math.min(text.length, ...found));
}

/** The tool that must be called, else one that the text names, else the first of a few. */
function toolFor(request: DemoRequest, scenario: Scenario): DemoTool | null {
  const { tools, toolChoice, text } = request;
  if (request.toolResult !== null || toolChoice === "none" || !scenario.tools) return null;
  const forced = tools.find(({ name }) => name === toolChoice);
  const mentioned = tools.find(({ name }) => text.includes(name));
  const first = toolChoice === "any" || tools.length <= maxToolsToGuess ? tools[0] : undefined;
  return forced ?? mentioned ?? first ?? null;
}

/** The last word, for arguments that look like a response to the question. */
function hintIn(text: string): string {
  const last = text.trim().split(/\s+/).at(-1) ?? "";
  return last.replace(/[^\p{L}\p{N}-]/gu, "") || "example";
}

function replyText(request: DemoRequest, scenario: Scenario): string {
  if (request.schema !== null) return JSON.stringify(sampleOf(request.schema, "demo"));
  if (scenario.words !== null) return prose(scenario.words);
  if (request.toolResult !== null)
    return `The tool says: ${quoted(request.toolResult)} That is all I needed to know.`;
  return (
    `Hello from Sluice's built-in demo. You said: ${quoted(request.text)} ` +
    "I am not a model, but everything around me is real: the stream, the tokens and what they cost. " +
    "Configure a provider, and its responses will appear here."
  );
}

function quoted(text: string): string {
  const short = withEllipsis(text, maxQuoteLength);
  return `“${short.trim()}”.`;
}

const vocabulary =
  "The water rises behind the gate and waits until the lock is level then the boats move on in their own time and the keeper writes down who has passed".split(
    " ",
  );

function prose(count: number): string {
  return Array.from({ length: count }, (_, index) => vocabulary[index % vocabulary.length]).join(" ");
}

const maxDepth = 8;

/** A plausible value for a JSON schema: tool arguments, or a response that must have a given shape. */
function sampleOf(schema: JsonObject, hint: string, depth = 0): Json {
  const choices = schema["enum"];
  if (Array.isArray(choices) && choices.length > 0) return choices[0] ?? null;
  if (schema["const"] !== undefined) return schema["const"];
  const alternatives = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (Array.isArray(alternatives) && isObject(alternatives[0]) && depth < maxDepth) {
    return sampleOf(alternatives[0], hint, depth + 1);
  }
  switch (typeOf(schema)) {
    case "object":
      return objectSample(schema, hint, depth);
    case "array":
      return isObject(schema["items"]) && depth < maxDepth
        ? [sampleOf(schema["items"], hint, depth + 1)]
        : [];
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? schema["minimum"] : 1;
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return hint;
  }
}

function typeOf(schema: JsonObject): Json | undefined {
  const type = schema["type"];
  if (Array.isArray(type)) return type[0];
  return type ?? (isObject(schema["properties"]) ? "object" : "string");
}

/** Required properties, or all when none is. */
function objectSample(schema: JsonObject, hint: string, depth: number): JsonObject {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const sample: JsonObject = {};
  if (depth >= maxDepth) return sample;
  for (const [name, property] of Object.entries(properties)) {
    if (required.length > 0 && !required.includes(name)) continue;
    if (isObject(property)) sample[name] = sampleOf(property, hint, depth + 1);
  }
  return sample;
}
