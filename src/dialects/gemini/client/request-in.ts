import type { Json, JsonObject } from "../../../base/json.ts";
import { type DroppedFields, decideFields, reject, unsupported } from "../../contract/field-decisions.ts";
import type { IrFormat, IrReasoningSettings, IrRequest, IrTool, IrToolChoice } from "../../ir/ir.ts";
import { booleanOf, numberOf, objectOf, objectsOf, stringOf, stringsOf } from "../../json/json-fields.ts";
import { readEffort } from "../../reasoning/effort.ts";
import { functionTool } from "../../tools/schema.ts";
import { askedOutputs, readTier } from "./asked-extras.ts";
import { readContents } from "./contents-in.ts";
import { configFields, requestFields } from "./fields.ts";
import { readProtoJson } from "./proto-json.ts";
import { readSchema } from "./schema-in.ts";

const prefix = "generationConfig.";
const levelPath = `${prefix}thinkingConfig.thinkingLevel`;

export function readRequest(sent: JsonObject, dropped: DroppedFields): IrRequest {
  const body = readProtoJson(sent);
  const config = objectOf(body["generationConfig"]) ?? {};
  decideFields(body, requestFields, dropped);
  decideFields(config, configFields, dropped, prefix);
  const output = askedOutputs(config).find(({ modality }) => modality !== "text");
  if (output?.field === "responseModalities")
    reject(prefix + output.field, "can only be TEXT for this model's provider");
  if (output !== undefined) reject(prefix + output.field, unsupported);
  const { contents, systemInstruction, tools, toolConfig, serviceTier } = body;
  const calling = objectOf(objectOf(toolConfig)?.["functionCallingConfig"]);
  return {
    stream: body["stream"] === true,
    system: objectsOf(objectOf(systemInstruction)?.["parts"]).flatMap(({ text }) =>
      typeof text === "string" && text !== "" ? [{ type: "text" as const, text }] : [],
    ),
    messages: readContents(objectsOf(contents), dropped),
    tools: readTools(tools, calling?.["mode"] === "VALIDATED" ? true : null),
    toolChoice: readChoice(calling),
    parallelToolCalls: null,
    reasoning: readThinking(objectOf(config["thinkingConfig"])),
    format: readFormat(config),
    maxOutputTokens: numberOf(config["maxOutputTokens"]),
    stop: stringsOf(config["stopSequences"]),
    sampling: {
      temperature: numberIn(config, "temperature"),
      topP: numberIn(config, "topP"),
      topK: numberIn(config, "topK"),
    },
    identity: { user: null, safetyIdentifier: null, promptCacheKey: null },
    serviceTier: readTier(stringOf(serviceTier)),
    verbosity: null,
    store: null,
    metadata: null,
  };
}

/** Google reads numbers from texts, too. */
function numberIn(config: JsonObject, name: string, path = prefix): number | null {
  const { [name]: value = null } = config;
  return value === null || typeof value === "number" ? value : reject(path + name, "must be a number");
}

/** Every member of a tool is a tool of its own. */
function readTools(tools: Json | undefined, isStrict: true | null): IrTool[] {
  return objectsOf(tools).flatMap((tool, index) =>
    Object.entries(tool).flatMap(([name, value]): IrTool[] => {
      if (name === "functionDeclarations")
        return objectsOf(value).map((each) => readFunction(each, isStrict));
      if (value === null) return [];
      return [{ type: "hosted", name, path: `tools[${index}].${name}`, shownAs: `tools[].${name}` }];
    }),
  );
}

function readFunction(
  { name, description, parametersJsonSchema, parameters }: JsonObject,
  isStrict: true | null,
): IrTool {
  const schema = objectOf(parametersJsonSchema);
  const google = objectOf(parameters);
  return functionTool(
    stringOf(name) ?? reject("tools[].functionDeclarations[].name", "must be the name of the function"),
    stringOf(description),
    schema ?? (google === null ? null : readSchema(google)),
    isStrict,
  );
}

function readChoice(config: JsonObject | null): IrToolChoice | null {
  const { mode, allowedFunctionNames } = config ?? {};
  if (mode === undefined || mode === null || mode === "MODE_UNSPECIFIED") return null;
  if (mode === "NONE") return { type: "none" };
  if (mode === "AUTO" || mode === "VALIDATED") return { type: "auto" };
  if (mode !== "ANY") reject("toolConfig.functionCallingConfig.mode", "must be AUTO, ANY, NONE or VALIDATED");
  const [first, ...more] = stringsOf(allowedFunctionNames).map((name) => ({ namespace: null, name }));
  if (first === undefined) return { type: "required" };
  return more.length === 0
    ? { type: "tool", ...first }
    : { type: "allowed", mode: "required", tools: [first, ...more] };
}

/** A budget of 0 turns thinking off, and -1 leaves it to the model. */
function readThinking(config: JsonObject | null): IrReasoningSettings | null {
  if (config === null) return null;
  const budget = numberIn(config, "thinkingBudget", `${prefix}thinkingConfig.`);
  const level = stringOf(config["thinkingLevel"])?.toLowerCase() ?? null;
  const visible = booleanOf(config["includeThoughts"]);
  const effort =
    level === null || level === "thinking_level_unspecified" ? null : readEffort(level, levelPath);
  return {
    effort: effort ?? (budget === 0 ? "none" : null),
    thinking: budget === 0 ? "disabled" : budget === -1 ? "adaptive" : null,
    budgetTokens: budget !== null && budget > 0 ? budget : null,
    visible,
    summary: visible === true ? "auto" : null,
  };
}

/** JSON, with a schema in one of Google's three places, or one of the schema's words. Null for text. */
export function readFormat(config: JsonObject): IrFormat | null {
  const { text, ...others } = objectOf(config["responseFormat"]) ?? {};
  const newest = objectOf(text) ?? others;
  const google = objectOf(config["responseSchema"]);
  const schema =
    objectOf(config["responseJsonSchema"]) ??
    objectOf(config["_responseJsonSchema"]) ??
    objectOf(newest["schema"]) ??
    (google === null ? null : readSchema(google));
  if (schema !== null) return { type: "json_schema", name: null, description: null, schema, strict: null };
  const type = stringOf(config["responseMimeType"]) ?? stringOf(newest["mimeType"]) ?? "";
  return /^application[/_]json$/i.test(type) ? { type: "json_object" } : null;
}
