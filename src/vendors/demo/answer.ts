import { newId } from "../../base/id.ts";
import { noUsage, type Usage } from "../../base/usage/usage.ts";
import type { IrBlockHead, IrFinish } from "../../dialects/ir/ir.ts";
import { countPieces, piecesOf } from "./pieces.ts";
import type { DemoRequest, DemoTool } from "./request.ts";
import { sampleOf } from "./sample.ts";
import type { Scenario } from "./scenario.ts";

/** The demo's answer, independent of the dialect. */
export interface DemoAnswer {
  /** In the order in which they are streamed. */
  readonly blocks: readonly DemoBlock[];
  readonly finish: IrFinish;
  /** Null if it was asked to report none. */
  readonly usage: Usage | null;
}

export interface DemoBlock {
  readonly head: IrBlockHead;
  /** Its text, or the arguments of a call. */
  readonly pieces: readonly string[];
}

/** With more tools than this the client is an agent, and a tool called at random might do something. */
const fewTools = 3;
const longestQuote = 160;

export function answerTo(request: DemoRequest, scenario: Scenario): DemoAnswer {
  const thoughts = `The user wrote ${request.text.length} characters. As a demo I know nothing, so I shall say so kindly.`;
  const thinking = request.thinks ? piecesOf(thoughts) : [];
  const tool = toolFor(request, scenario);
  const { said, finish, outputTokens } =
    tool === null ? speak(request, scenario, thinking.length) : call(tool, request);
  const blocks =
    thinking.length > 0 ? [{ head: { type: "reasoning" as const }, pieces: thinking }, said] : [said];
  const usage = {
    ...noUsage,
    inputTokens: request.inputTokens,
    outputTokens: (thinking.length + outputTokens) * request.choices,
    reasoningTokens: thinking.length * request.choices,
  };
  return { blocks, finish, usage: scenario.usage ? usage : null };
}

/** What follows the thinking. */
interface Said {
  readonly said: DemoBlock;
  readonly finish: IrFinish;
  readonly outputTokens: number;
}

function speak(request: DemoRequest, scenario: Scenario, thinkingTokens: number): Said {
  const { text, stop } = cutAtStop(words(request, scenario), request.stops);
  const wanted = piecesOf(text);
  const pieces = wanted.slice(0, Math.max(0, (request.maxTokens ?? Infinity) - thinkingTokens));
  const reason = pieces.length < wanted.length ? "length" : stop === null ? "stop" : "stop_sequence";
  const stopSequence = reason === "stop_sequence" ? stop : null;
  return {
    said: { head: { type: "text" }, pieces },
    finish: { reason, stopSequence, explanation: null },
    outputTokens: pieces.length,
  };
}

function call(tool: DemoTool, request: DemoRequest): Said {
  const pieces = piecesOf(JSON.stringify(sampleOf(tool.schema, hintIn(request.text))));
  return {
    said: {
      head: { type: "tool_call", id: newId("call_"), kind: "function", namespace: null, name: tool.name },
      pieces,
    },
    finish: { reason: "tool_calls", stopSequence: null, explanation: null },
    outputTokens: countPieces(tool.name) + pieces.length,
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

/** The last word, for arguments that look like an answer to the question. */
function hintIn(text: string): string {
  const last = text.trim().split(/\s+/).at(-1) ?? "";
  return last.replace(/[^\p{L}\p{N}-]/gu, "") || "example";
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
