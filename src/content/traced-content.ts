import type { Json } from "../base/json.ts";
import type { GenAiPart } from "./conversation/part.ts";
import { type Message, readConversation } from "./conversation/read.ts";
import type { ContentDocument } from "./document.ts";

/** A request's content as attributes of its span: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ */
export interface TracedContent {
  readonly id: string;
  readonly attributes: Readonly<Record<string, string>>;
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
  return { id, attributes: Object.fromEntries(attributes) };
}

function messageOf({ role, parts, finish_reason: reason }: Message) {
  return { role, parts: parts.map(partOf), ...(reason === undefined ? {} : { finish_reason: reason }) };
}

/** The conventions allow parts of any type; one that they do not name has its own type and members. */
function partOf(part: GenAiPart): GenAiPart | Json {
  return part.type === "other" ? part.value : part;
}
