import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { fieldOf, repeated } from "../../base/proto-json.ts";
import { googleParts, googleRole } from "./google.ts";
import {
  callPart,
  type GenAiPart,
  listIn,
  partsOf,
  reasoningPart,
  resultPart,
  textIn,
  textPart,
} from "./part.ts";

/** One message of a conversation, as OpenTelemetry's conventions for generative AI write it. */
export interface Message {
  readonly role: string;
  readonly parts: readonly GenAiPart[];
  readonly finish_reason?: string;
}

/** A message of a request with its place in the body, such as `messages[2]`. */
export interface PlacedMessage extends Message {
  readonly path: string;
}

/** The messages of a request and its response, in any format. */
export interface ReadConversation {
  readonly system: readonly GenAiPart[];
  readonly tools: readonly Json[];
  readonly input: readonly PlacedMessage[];
  readonly output: readonly Message[];
}

export function readConversation(request: Json, response: Json): ReadConversation {
  const body = isObject(request) ? request : {};
  return {
    system: [
      ...partsOf(body["system"]),
      ...partsOf(body["instructions"]),
      ...googleParts(fieldOf(body, "systemInstruction")),
    ],
    tools: repeated(body["tools"]).flatMap(functionsIn).map(definitionOf),
    input: inputOf(body),
    output: isObject(response) ? outputOf(response) : [],
  };
}

/** Items of a conversation in the format of the Responses API, as they are stored. */
export function readItems(items: readonly Json[], path: string): readonly PlacedMessage[] {
  return items.map((item, place) => ({ ...messageOf(item, "user"), path: `${path}[${place}]` }));
}

function inputOf(body: JsonObject): readonly PlacedMessage[] {
  for (const name of ["messages", "input", "prompt", "query", "text"]) {
    const input = body[name];
    if (typeof input === "string") return [{ role: "user", parts: textPart(input), path: name }];
    if (Array.isArray(input)) return readItems(input, name);
  }
  const { contents, content, requests } = body;
  // The last two are of texts that become vectors.
  return [
    ...repeated(contents).map((each, place) => googleMessage(each, `contents[${place}]`)),
    ...(content === undefined ? [] : [googleMessage(content, "content")]),
    ...repeated(requests).map((each, place) =>
      googleMessage(isObject(each) ? (each["content"] ?? null) : null, `requests[${place}].content`),
    ),
  ];
}

function googleMessage(content: Json, path: string): PlacedMessage {
  return { role: isObject(content) ? googleRole(content) : "user", parts: googleParts(content), path };
}

/** An item of a request: a message of any format, or a call, a result or the reasoning between messages. */
function messageOf(item: Json, role: string): Message {
  if (!isObject(item)) return { role, parts: partsOf([item]) };
  const type = textIn(item["type"]);
  if (type === "reasoning") return { role: "assistant", parts: reasoningOf(item) };
  if (/_call_output$/.test(type))
    return { role: "tool", parts: [resultPart(item["call_id"], item["output"] ?? item["content"])] };
  if (/_call$/.test(type)) return { role: "assistant", parts: [callPart(item)] };
  if (item["role"] === undefined) return { role, parts: partsOf([item]) };
  const named = textIn(item["role"]);
  if (named === "tool") return { role: named, parts: [resultPart(item["tool_call_id"], item["content"])] };
  return { role: named, parts: spokenParts(item) };
}

function spokenParts(message: JsonObject): readonly GenAiPart[] {
  const reasoning = textIn(message["reasoning_content"]) || textIn(message["reasoning"]);
  return [
    ...reasoningPart(reasoning),
    ...partsOf(message["content"]),
    ...textPart(textIn(message["refusal"])),
    ...listIn(message["tool_calls"]).flatMap((call) => (isObject(call) ? [callPart(call)] : [])),
  ];
}

function reasoningOf(item: JsonObject): readonly GenAiPart[] {
  const texts = [...listIn(item["summary"]), ...listIn(item["content"])].map((each) =>
    isObject(each) ? textIn(each["text"]) : "",
  );
  return reasoningPart(texts.filter((text) => text !== "").join("\n\n"));
}

function outputOf(response: JsonObject): readonly Message[] {
  const { choices, output, content, text, stop_reason: stop, status, candidates } = response;
  if (Array.isArray(candidates))
    return candidates.flatMap((candidate) => (isObject(candidate) ? [candidateOf(candidate)] : []));
  if (Array.isArray(choices))
    return choices.flatMap((choice) => (isObject(choice) ? [choiceOf(choice)] : []));
  if (Array.isArray(output)) {
    const parts = output.flatMap((item) => messageOf(item, "assistant").parts);
    return [finished(parts, status === "completed" ? "stop" : incompleteReason(response) || textIn(status))];
  }
  if (Array.isArray(content)) return [finished(partsOf(content), textIn(stop))];
  return typeof text === "string" ? [finished(textPart(text), "")] : [];
}

function incompleteReason({ incomplete_details: details }: JsonObject): string {
  return isObject(details) ? textIn(details["reason"]) : "";
}

function choiceOf(choice: JsonObject): Message {
  const { message, text, finish_reason: reason } = choice;
  const parts = isObject(message) ? spokenParts(message) : textPart(textIn(text));
  return finished(parts, textIn(reason));
}

function candidateOf({ content, finishReason }: JsonObject): Message {
  return finished(googleParts(content), textIn(finishReason));
}

function finished(parts: readonly GenAiPart[], reason: string): Message {
  return { role: "assistant", parts, ...(reason === "" ? {} : { finish_reason: reason }) };
}

/** Google's tools have several functions each. */
function functionsIn(tool: Json): readonly Json[] {
  if (!isObject(tool)) return [tool];
  const { functionDeclarations, function_declarations, ...others } = tool;
  const functions = repeated(functionDeclarations ?? function_declarations);
  return functions.length === 0 || Object.keys(others).length > 0 ? [...functions, others] : functions;
}

/** A tool in the form that the conventions name; what is not a function is as the client wrote it. */
function definitionOf(tool: Json): Json {
  if (!isObject(tool)) return tool;
  const definition = isObject(tool["function"]) ? tool["function"] : tool;
  const parameters =
    definition["parameters"] ?? definition["input_schema"] ?? fieldOf(definition, "parametersJsonSchema");
  if (parameters === undefined) return tool;
  const { name, description } = definition;
  return {
    type: "function",
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    parameters,
  };
}
