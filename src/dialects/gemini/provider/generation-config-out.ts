import type { JsonObject } from "../../../base/json.ts";
import type { IrRequest } from "../../ir/ir.ts";
import type { Target } from "../../provider-dialect.ts";
import { type DroppedFields, refuse, takenStops } from "../../translation/dropped-fields.ts";
import { takesFormatWithTools, takesJsonSchema } from "./model.ts";
import { openApiSchema } from "./openapi-schema.ts";
import { writeThinking } from "./thinking-out.ts";

const maxStops = 5;
const maxTemperature = 2;

export function writeGenerationConfig(
  request: IrRequest,
  target: Target,
  dropped: DroppedFields,
): JsonObject {
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
  if (stops.length > maxStops) refuse(dropped.names.stop, `the model's provider takes at most ${maxStops}`);
  if (stops.length > 0) config["stopSequences"] = stops;
}

/** Whether JSON without a schema can only be requested in the prompt. */
export function asksForJsonInWords({ format, tools }: IrRequest, target: Target): boolean {
  return format?.type === "json_object" && tools.length > 0 && !takesFormatWithTools(target);
}

/** A schema beside tools has become a tool before, where the model takes only one of them. */
function addFormat(config: JsonObject, request: IrRequest, target: Target): void {
  const { format } = request;
  if (format === null || asksForJsonInWords(request, target)) return;
  config["responseMimeType"] = "application/json";
  if (format.type === "json_object") return;
  if (takesJsonSchema(target)) config["responseJsonSchema"] = format.schema;
  else config["responseSchema"] = openApiSchema(format.schema);
}
