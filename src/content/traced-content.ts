import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { fieldOf } from "../base/proto-json.ts";
import { type GenAiPart, listIn, textIn } from "./conversation/part.ts";
import { type Message, readConversation } from "./conversation/read.ts";
import type { ContentDocument } from "./document.ts";

/** A request's content as attributes of its span: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ */
export interface TracedContent {
  readonly id: string;
  readonly attributes: Readonly<Record<string, string | string[]>>;
}

/** `document` is JSON after one byte that is reserved for packing. */
export function tracedContent(id: string, document: Uint8Array): TracedContent {
  const { request, response } = JSON.parse(Buffer.from(document).toString("utf8", 1)) as ContentDocument;
  const { system, tools, input, output } = readConversation(request, response);
  const all: readonly (readonly [string, readonly unknown[]])[] = [
    ["gen_ai.system_instructions", system.map(partOf)],
    ["gen_ai.tool.definitions", tools],
    ["gen_ai.input.messages", input.map(messageOf)],
    ["gen_ai.output.messages", output.map(messageOf)],
  ];
  const attributes = all
    .filter(([, list]) => list.length > 0)
    .map(([name, list]) => [name, JSON.stringify(list)]);
  const rest = {
    ...attributeOf(
      "gen_ai.response.id",
      isObject(response) ? textIn(response["id"] ?? response["responseId"]) : "",
    ),
    ...attributeOf(
      "gen_ai.response.finish_reasons",
      output.flatMap((message) => reasonOf(message) ?? []),
    ),
    ...attributeOf("gen_ai.request.stop_sequences", isObject(request) ? stopsIn(request) : []),
  };
  return { id, attributes: { ...Object.fromEntries(attributes), ...rest } };
}

/** No attribute for an empty value. */
function attributeOf(name: string, value: string | string[]): Record<string, string | string[]> {
  return value.length === 0 ? {} : { [name]: value };
}

function stopsIn(request: JsonObject): string[] {
  const config = fieldOf(request, "generationConfig");
  const google = isObject(config) ? fieldOf(config, "stopSequences") : undefined;
  const stops = request["stop_sequences"] ?? request["stop"] ?? google;
  return typeof stops === "string" ? [stops] : listIn(stops).map(textIn).filter(Boolean);
}

function messageOf(message: Message) {
  const reason = reasonOf(message);
  return {
    role: message.role,
    parts: message.parts.map(partOf),
    ...(reason === undefined ? {} : { finish_reason: reason }),
  };
}

/** The conventions' words for what the formats call it. */
const finishReasons: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  max_output_tokens: "length",
  model_context_window_exceeded: "length",
  tool_calls: "tool_call",
  function_call: "tool_call",
  tool_use: "tool_call",
  refusal: "content_filter",
  failed: "error",
};

/** The Responses API completes a response that calls tools like any other. */
function reasonOf({ parts, finish_reason: reason }: Message): string | undefined {
  if (reason === "stop" && parts.some(({ type }) => type === "tool_call")) return "tool_call";
  return reason === undefined ? undefined : (finishReasons[reason] ?? reason);
}

/** The conventions allow parts of any type; one that they do not name has its own type and members. */
function partOf(part: GenAiPart): GenAiPart | Json {
  return part.type === "other" ? part.value : part;
}
