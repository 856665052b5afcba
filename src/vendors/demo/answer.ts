import { newId } from "../../base/id.ts";
import { countPieces, piecesOf } from "./pieces.ts";
import type { DemoRequest, DemoTool } from "./request.ts";
import { sampleOf } from "./sample.ts";
import type { Scenario } from "./scenario.ts";

/** The demo's answer, independent of the dialect. */
export interface DemoAnswer {
  readonly request: DemoRequest;
  readonly createdSeconds: number;
  readonly thinking: readonly string[];
  readonly text: readonly string[];
  readonly call: ToolCall | null;
  /** It was truncated at the output limit. */
  readonly truncated: boolean;
  /** The stop sequence that it ended at; null if it did not. */
  readonly stop: string | null;
  /** Null if it was asked to report none. */
  readonly usage: DemoUsage | null;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface DemoUsage {
  readonly input: number;
  readonly output: number;
  readonly thinking: number;
}

/** With more tools than this the client is an agent, and a tool called at random might do something. */
const fewTools = 3;
const longestQuote = 160;

export function answerTo(request: DemoRequest, scenario: Scenario): DemoAnswer {
  const tool = toolFor(request, scenario);
  const call = tool === null ? null : callOf(tool, request);
  const thinking = request.thinks ? piecesOf(thoughts(request)) : [];
  const said = call === null ? cutAtStop(words(request, scenario), request.stops) : { text: "", stop: null };
  const text = piecesOf(said.text);
  const callTokens = call === null ? 0 : countPieces(call.name) + countPieces(call.arguments);
  const wanted = thinking.length + text.length + callTokens;
  const most = request.maxTokens ?? wanted;
  const kept = text.slice(0, Math.max(0, most - thinking.length));
  const output = Math.min(wanted, Math.max(most, thinking.length + callTokens));
  const truncated = kept.length < text.length;
  const { choices, inputTokens } = request;
  return {
    request,
    createdSeconds: Math.floor(Date.now() / 1000),
    thinking,
    text: kept,
    call,
    truncated,
    stop: truncated ? null : said.stop,
    usage: scenario.usage
      ? { input: inputTokens, output: output * choices, thinking: thinking.length * choices }
      : null,
  };
}

/** Ends a text before the first stop sequence in it. */
function cutAtStop(text: string, stops: readonly string[]): { text: string; stop: string | null } {
  let end = text.length;
  let found: string | null = null;
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at === -1 || at >= end) continue;
    end = at;
    found = stop;
  }
  return { text: text.slice(0, end), stop: found };
}

/** The tool that must be called, else one that the text names, else the first of a few. */
function toolFor(request: DemoRequest, scenario: Scenario): DemoTool | null {
  const { tools, toolChoice, text } = request;
  if (request.toolResult !== null || toolChoice === "none" || !scenario.tools) return null;
  const forced = tools.find(({ name }) => name === toolChoice);
  const named = tools.find(({ name }) => text.includes(name));
  const first = toolChoice === "any" || tools.length <= fewTools ? tools[0] : undefined;
  return forced ?? named ?? first ?? null;
}

function callOf(tool: DemoTool, request: DemoRequest): ToolCall {
  const hint =
    request.text
      .trim()
      .split(/\s+/)
      .at(-1)
      ?.replace(/[^\p{L}\p{N}-]/gu, "") || "example";
  return { id: newId("call_"), name: tool.name, arguments: JSON.stringify(sampleOf(tool.schema, hint)) };
}

function thoughts(request: DemoRequest): string {
  return `The user wrote ${request.text.length} characters. As a demo I know nothing, so I shall say so kindly.`;
}

function words(request: DemoRequest, scenario: Scenario): string {
  if (request.schema !== null) return JSON.stringify(sampleOf(request.schema, "demo"));
  if (scenario.words !== null) return prose(scenario.words);
  if (request.toolResult !== null)
    return `The tool says: ${quoted(request.toolResult)} That is all I needed to know.`;
  return (
    `Hello from Sluice's built-in demo. You said: ${quoted(request.text)} ` +
    "I am not a model, but everything around me is real: the stream, the tokens and what they cost. " +
    "Configure a provider and this is where its answer will be."
  );
}

function quoted(text: string): string {
  const short = text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text;
  return `“${short.trim()}”.`;
}

const vocabulary =
  "The water rises behind the gate and waits until the lock is level then the boats move on in their own time and the keeper writes down who has passed".split(
    " ",
  );

function prose(count: number): string {
  return Array.from({ length: count }, (_, index) => vocabulary[index % vocabulary.length]).join(" ");
}
