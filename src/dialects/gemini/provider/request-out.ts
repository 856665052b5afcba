import { tableOf } from "../../../base/collections/table.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import { type DroppedFields, reject, takenStops } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { requestsImageDetail } from "../../ir/image-detail.ts";
import type { IrFunctionTool, IrRequest, IrToolChoice } from "../../ir/ir.ts";
import { objectOf } from "../../json/json-fields.ts";
import { jsonOnly } from "../../target/prompt-text.ts";
import { type Content, writeContents } from "./contents-out.ts";
import { isGemma, takesFormatWithTools, takesJsonSchema, takesLabels, takesServiceTier } from "./model.ts";
import { openApiParameters, openApiSchema, ReferenceRoom } from "./openapi-schema.ts";
import { writeThinking } from "./thinking-out.ts";

/** The model and whether to stream are in the request's target. */
export function writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  const system = writeSystem(request, target);
  const contents = writeContents(request.messages, target, dropped);
  // Without a system instruction, or without anything else, the instructions are the user's.
  if (system.length > 0 && (isGemma(target) || contents.length === 0)) prepend(contents, system.splice(0));
  if (contents.length === 0) reject(dropped.names.turns, "must have a user message");
  const body: JsonObject = {};
  if (system.length > 0) body["systemInstruction"] = { parts: system };
  body["contents"] = contents;
  addTools(body, request, target, dropped);
  const config = writeGenerationConfig(request, target, dropped);
  if (Object.keys(config).length > 0) body["generationConfig"] = config;
  addTier(body, request, target, dropped);
  addLabels(body, request, target, dropped);
  dropUnsupported(request, dropped);
  return body;
}

function writeSystem(request: IrRequest, target: Target): JsonObject[] {
  const written: JsonObject[] = [];
  for (const { text } of request.system) if (text !== "") written.push({ text });
  if (requestsJsonInPrompt(request, target)) written.push({ text: jsonOnly });
  return written;
}

function prepend(contents: Content[], parts: JsonObject[]): void {
  const [first] = contents;
  if (first?.role === "user") first.parts.unshift(...parts);
  else contents.unshift({ role: "user", parts });
}

const tiers = tableOf<string>({ default: "standard", flex: "flex", priority: "priority" });

function addTier(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const requested = request.serviceTier;
  if (requested === null || requested === "auto") return;
  const tier = takesServiceTier(target) ? tiers[requested] : undefined;
  if (tier === undefined) dropped.addNamed("serviceTier");
  else body["serviceTier"] = tier;
}

function addLabels(body: JsonObject, { metadata }: IrRequest, target: Target, dropped: DroppedFields): void {
  if (metadata === null) return;
  if (takesLabels(target)) body["labels"] = metadata;
  else dropped.addNamed("metadata");
}

function dropUnsupported(request: IrRequest, dropped: DroppedFields): void {
  const { user, safetyIdentifier, promptCacheKey } = request.identity;
  if (user !== null) dropped.addNamed("user");
  if (safetyIdentifier !== null) dropped.addNamed("safetyIdentifier");
  if (promptCacheKey !== null) dropped.addNamed("promptCacheKey");
  if (request.verbosity !== null) dropped.addNamed("verbosity");
  if (request.store !== null) dropped.addNamed("store");
  if (requestsImageDetail(request)) dropped.addNamed("imageDetail");
}

const maxStops = 5;
const maxTemperature = 2;

function writeGenerationConfig(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  const config: JsonObject = {};
  const limit = request.maxOutputTokens;
  if (limit !== null) config["maxOutputTokens"] = Math.min(limit, target.maxOutputTokens ?? limit);
  addSampling(config, request);
  addStops(config, request, dropped);
  addFormat(config, request, target);
  const thinking = writeThinking(request.reasoning, target, dropped);
  if (thinking !== null) config["thinkingConfig"] = thinking;
  return config;
}

function addSampling(config: JsonObject, { sampling }: IrRequest): void {
  const { temperature, topP, topK } = sampling;
  if (temperature !== null) config["temperature"] = Math.min(Math.max(temperature, 0), maxTemperature);
  if (topP !== null) config["topP"] = topP;
  if (topK !== null) config["topK"] = Math.round(topK);
}

function addStops(config: JsonObject, request: IrRequest, dropped: DroppedFields): void {
  const stops = takenStops(request, dropped);
  if (stops.length > maxStops)
    reject(dropped.names.stop, `can have at most ${maxStops} items for this model's provider`);
  if (stops.length > 0) config["stopSequences"] = stops;
}

/** Whether JSON without a schema can only be requested in the prompt. */
function requestsJsonInPrompt({ format, tools }: IrRequest, target: Target): boolean {
  return format?.type === "json_object" && tools.length > 0 && !takesFormatWithTools(target);
}

/** If the model does not accept a schema together with tools, the schema has already been turned into a tool. */
function addFormat(config: JsonObject, request: IrRequest, target: Target): void {
  const { format } = request;
  if (format === null || requestsJsonInPrompt(request, target)) return;
  config["responseMimeType"] = "application/json";
  if (format.type === "json_object") return;
  if (takesJsonSchema(target)) config["responseJsonSchema"] = format.schema;
  else config["responseSchema"] = openApiSchema(format.schema);
}

/** One entry declares all functions. */
function addTools(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const functions = request.tools.filter((tool) => tool.type === "function");
  if (functions.length === 0) return;
  const room = new ReferenceRoom();
  body["tools"] = [{ functionDeclarations: functions.map((tool) => declarationOf(tool, target, room)) }];
  const config = writeChoice(
    request.toolChoice,
    functions.some((tool) => tool.strict === true),
  );
  if (config !== null) body["toolConfig"] = { functionCallingConfig: config };
  if (request.parallelToolCalls === false) dropped.addNamed("singleCall");
}

function declarationOf(
  { name, description, schema }: IrFunctionTool,
  target: Target,
  room: ReferenceRoom,
): JsonObject {
  const declaration: JsonObject = { name, description: description ?? "" };
  if (schema === null || takesNothing(schema)) return declaration;
  if (takesJsonSchema(target)) declaration["parametersJsonSchema"] = { type: "object", ...schema };
  else {
    const parameters = openApiParameters(schema, room);
    if (parameters !== null) declaration["parameters"] = parameters;
  }
  return declaration;
}

/** Google rejects an object without properties. */
function takesNothing(schema: JsonObject): boolean {
  const isOpen = ["anyOf", "oneOf", "allOf", "$ref", "patternProperties"].some(
    (keyword) => schema[keyword] !== undefined,
  );
  return !isOpen && isEmpty(schema["properties"]) && isEmpty(schema["additionalProperties"]);
}

function isEmpty(value: Json | undefined): boolean {
  const object = objectOf(value);
  return object === null || Object.keys(object).length === 0;
}

/** Null if the model decides by itself. `VALIDATED` holds the model to the schemas. */
function writeChoice(choice: IrToolChoice | null, isStrict: boolean): JsonObject | null {
  switch (choice?.type) {
    case "required":
      return { mode: "ANY" };
    case "none":
      return { mode: "NONE" };
    case "tool":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
    default:
      if (isStrict) return { mode: "VALIDATED" };
      return choice === null ? null : { mode: "AUTO" };
  }
}
