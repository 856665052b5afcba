import type { Json, JsonObject } from "../../../base/json.ts";
import { type DroppedFields, decideFields, reject } from "../../contract/field-decisions.ts";
import type {
  IrFunctionTool,
  IrReasoningSettings,
  IrRequest,
  IrTool,
  IrToolChoice,
  ToolRef,
} from "../../ir/ir.ts";
import {
  booleanOf,
  listOf,
  nonEmpty,
  numberOf,
  objectOf,
  objectsOf,
  stringOf,
  stringsOf,
} from "../../json/json-fields.ts";
import { readFormat } from "../../openai/format.ts";
import { readIdentity } from "../../openai/request-fields.ts";
import { readEffort } from "../../reasoning/effort.ts";
import { functionTool } from "../../tools/schema.ts";
import { readHosted, readSearch, searchName } from "../../tools/web-search.ts";
import { customPart } from "../tool-call.ts";
import { cacheOf } from "./content-in.ts";
import { functionFields, requestFields } from "./fields.ts";
import { readMessages } from "./messages-in.ts";

export function readRequest(body: JsonObject, dropped: DroppedFields): IrRequest {
  decideFields(body, requestFields, dropped);
  if (listOf(body["modalities"]).includes("audio"))
    reject("modalities", "includes audio, which this model's provider does not support");
  return {
    stream: body["stream"] === true,
    ...readMessages(body["messages"], dropped),
    tools: readTools(body, dropped),
    toolChoice: readToolChoice(body),
    parallelToolCalls: booleanOf(body["parallel_tool_calls"]),
    reasoning: readReasoning(body["reasoning_effort"]),
    format: readFormat(objectOf(body["response_format"]), "response_format", describedIn),
    maxOutputTokens: numberOf(body["max_completion_tokens"]) ?? numberOf(body["max_tokens"]),
    stop: typeof body["stop"] === "string" ? [body["stop"]] : stringsOf(body["stop"]),
    sampling: {
      temperature: numberOf(body["temperature"]),
      topP: numberOf(body["top_p"]),
      topK: numberOf(body["top_k"]),
    },
    identity: readIdentity(body),
    serviceTier: stringOf(body["service_tier"]),
    verbosity: stringOf(body["verbosity"]),
    store: booleanOf(body["store"]),
    metadata: objectOf(body["metadata"]),
  };
}

/** Chat clients read `reasoning_content`, so reasoning is visible. */
function readReasoning(requested: Json | undefined): IrReasoningSettings | null {
  const effort = readEffort(requested, "reasoning_effort");
  if (effort === null) return null;
  return { effort, thinking: null, budgetTokens: null, visible: true, summary: null };
}

function describedIn(format: JsonObject): JsonObject {
  return objectOf(format["json_schema"]) ?? reject("response_format.json_schema", "must be an object");
}

function readTools(body: JsonObject, dropped: DroppedFields): IrTool[] {
  const tools = objectsOf(body["tools"]).map((tool, index) => readTool(tool, `tools[${index}]`, dropped));
  const legacy = objectsOf(body["functions"]).map((it, index) =>
    readFunction(it, `functions[${index}]`, dropped),
  );
  return [...tools, ...legacy, ...searchOptions(body)];
}

/** Chat turns a search on by a field, and nests the location once more than the other dialects. */
function searchOptions(body: JsonObject): IrTool[] {
  const field = "web_search_options";
  const options = objectOf(body[field]);
  if (options === null) return [];
  const location = objectOf(options["user_location"]);
  const { approximate, ...common } = location ?? {};
  const place = location && { ...common, ...objectOf(approximate) };
  const search = readSearch(options, place, `${field}.`);
  return [{ type: "hosted", name: searchName, path: field, shownAs: field, search }];
}

function readTool(tool: JsonObject, path: string, dropped: DroppedFields): IrTool {
  const type = nonEmpty(tool["type"]) ?? impliedType(tool, path);
  if (type === "function") {
    const named = objectOf(tool["function"]) ?? {};
    const read = readFunction(named, `${path}.function`, dropped);
    return { ...read, ...cacheOf(named), ...cacheOf(tool) };
  }
  if (type === "custom") return readCustom(objectOf(tool["custom"]) ?? {}, `${path}.custom`);
  return readHosted(tool, { name: type, path });
}

/** Some clients omit the type, and chat providers accept that. */
function impliedType(tool: JsonObject, path: string): string {
  if (customPart(tool) !== null) return "custom";
  return objectOf(tool["function"]) === null
    ? reject(`${path}.type`, "must be a tool type, such as `function`")
    : "function";
}

function readFunction(tool: JsonObject, path: string, dropped: DroppedFields): IrFunctionTool {
  decideFields(tool, functionFields, dropped, "tools[].function.");
  const { description, parameters, strict } = tool;
  return functionTool(readName(tool, path), stringOf(description), objectOf(parameters), booleanOf(strict));
}

function readCustom(tool: JsonObject, path: string): IrTool {
  const format = objectOf(tool["format"]);
  // Chat nests the grammar once more than Responses does.
  const grammar = objectOf(format?.["grammar"]);
  return {
    type: "custom",
    namespace: null,
    name: readName(tool, path),
    description: stringOf(tool["description"]),
    format: grammar === null ? format : { type: "grammar", ...grammar },
  };
}

function readName(tool: JsonObject, path: string): string {
  return stringOf(tool["name"]) ?? reject(`${path}.name`, "must be the name of the tool");
}

function readToolChoice(body: JsonObject): IrToolChoice | null {
  return choiceOf(body["tool_choice"]) ?? choiceOf(body["function_call"]);
}

function choiceOf(choice: Json | undefined): IrToolChoice | null {
  if (choice === "auto" || choice === "required" || choice === "none") return { type: choice };
  if (choice === undefined || choice === null) return null;
  const named = objectOf(choice) ?? reject("tool_choice", "must be auto, required, none or an object");
  const allowed = objectOf(named["allowed_tools"]);
  if (allowed !== null) return allowedOf(allowed);
  const ref = refOf(named) ?? refOf({ function: named });
  if (ref !== null) return { type: "tool", ...ref };
  return { type: "hosted", name: stringOf(named["type"]) ?? "" };
}

function allowedOf(allowed: JsonObject): IrToolChoice {
  const refs = objectsOf(allowed["tools"]).map(refOf);
  return {
    type: "allowed",
    mode: allowed["mode"] === "required" ? "required" : "auto",
    tools: refs.filter((ref) => ref !== null),
  };
}

function refOf(named: JsonObject): ToolRef | null {
  const tool = customPart(named) ?? objectOf(named["function"]);
  const name = stringOf(tool?.["name"]);
  return name === null ? null : { namespace: null, name };
}
