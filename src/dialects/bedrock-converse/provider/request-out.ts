import type { JsonObject } from "../../../base/json.ts";
import { dropUnsupported } from "../../anthropic-messages/provider/request-out.ts";
import {
  addOutputConfig,
  isForced,
  isThinking,
  takenSampling,
  writeThinking,
} from "../../anthropic-messages/provider/thinking-out.ts";
import { type DroppedFields, takenStops } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import type { IrFormat, IrRequest, IrTool } from "../../ir/ir.ts";
import { effortOf } from "../../reasoning/effort.ts";
import { dropCacheMarks } from "../../target/mark-cache.ts";
import { modelName, takesOutputFormat } from "../../target/model-traits.ts";
import { jsonOnly } from "../../target/prompt-text.ts";
import { functionSchema } from "../../tools/schema.ts";
import { limitCachePoints } from "./cache-points.ts";
import { ConverseContentWriter } from "./content-out.ts";
import { writeMessages } from "./messages-out.ts";
import { canBeForced, familyOf, type ModelFamily, takesCachePoints } from "./model-family.ts";

/** A budget for thinking is a part of the limit; used if neither the client nor the catalog has one. */
const assumedMaxTokens = 4096;
/** Bedrock demands the definitions of tools that the conversation mentions, and has no choice that forbids them. */
const noTools = "Do not call any tools now. Answer with text.";

export function writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  const family = familyOf(modelName(target));
  const writer = new ConverseContentWriter(takesCachePoints(family));
  if (!takesCachePoints(family)) dropCacheMarks(request, dropped);
  const messages = writeMessages(request.messages, writer, dropped);
  const system = writeSystem(request, family, writer);
  // A request with instructions only sends them as the user's message.
  const conversation =
    messages.length > 0 ? messages : [{ role: "user" as const, content: system.splice(0) }];
  const tools = request.tools.flatMap((tool) => writeTool(tool, target, writer, dropped));
  limitCachePoints(tools, system, conversation);
  dropIdentity(request, dropped);
  dropUnsupported(request, dropped);
  const body: JsonObject = { messages: conversation };
  if (system.length > 0) body["system"] = system;
  if (tools.length > 0) body["toolConfig"] = { tools, ...toolChoice(request, family, dropped) };
  addModelFields(body, request, target, family, dropped);
  if (request.serviceTier !== null) body["serviceTier"] = { type: tierOf(request.serviceTier) };
  return body;
}

function writeSystem(request: IrRequest, family: ModelFamily, writer: ConverseContentWriter): JsonObject[] {
  const written = writer.write(request.system);
  if (request.format !== null && !(request.format.type === "json_schema" && family === "claude"))
    written.push({ text: formatText(request.format) });
  if (request.toolChoice?.type === "none" && request.tools.length > 0) written.push({ text: noTools });
  return written;
}

/** Models without structured outputs get the format as part of the prompt. */
function formatText(format: IrFormat): string {
  if (format.type === "json_object") return jsonOnly;
  return `${jsonOnly} It has to match this JSON schema:\n${JSON.stringify(format.schema)}`;
}

function writeTool(
  tool: IrTool,
  target: Target,
  writer: ConverseContentWriter,
  dropped: DroppedFields,
): JsonObject[] {
  if (tool.type !== "function") return [];
  const strict = tool.strict === true && takesOutputFormat(target);
  if (tool.strict === true && !strict) dropped.addNamed("strict");
  const hasDescription = tool.description !== null && tool.description.trim() !== "";
  const toolSpec: JsonObject = {
    name: tool.name,
    ...(hasDescription ? { description: tool.description } : {}),
    inputSchema: { json: functionSchema(tool.schema) },
    ...(strict ? { strict } : {}),
  };
  const written: JsonObject[] = [{ toolSpec }];
  writer.mark(written, tool.cache);
  return written;
}

function toolChoice(request: IrRequest, family: ModelFamily, dropped: DroppedFields): JsonObject {
  if (request.parallelToolCalls === false) dropped.addNamed("singleCall");
  const choice = request.toolChoice;
  if (isForced(request) && !canBeForced(family)) {
    dropped.addNamed("toolChoice");
    return {};
  }
  if (choice?.type === "tool") return { toolChoice: { tool: { name: choice.name } } };
  if (choice?.type === "required") return { toolChoice: { any: {} } };
  return choice?.type === "auto" ? { toolChoice: { auto: {} } } : {};
}

function addModelFields(
  body: JsonObject,
  request: IrRequest,
  target: Target,
  family: ModelFamily,
  dropped: DroppedFields,
): void {
  const { maxOutputTokens: max } = target;
  const requested = request.maxOutputTokens ?? max;
  const maxTokens = requested === null ? null : Math.min(requested, max ?? requested);
  const extra =
    family === "claude"
      ? claudeFields(request, target, maxTokens, dropped)
      : otherFields(request, family, dropped);
  const thinks = isThinking(extra["thinking"]);
  const isClaude = family === "claude";
  const { temperature, topP, topK } = takenSampling(request, target, thinks, dropped, isClaude);
  const stopSequences = takenStops(request, dropped);
  if (topK !== null && isClaude) extra["top_k"] = topK;
  else if (topK !== null && family === "nova") extra["inferenceConfig"] = { topK };
  else if (topK !== null) dropped.addNamed("topK");
  const inferenceConfig = {
    ...(maxTokens === null ? {} : { maxTokens }),
    ...(temperature === null ? {} : { temperature }),
    ...(topP === null ? {} : { topP }),
    ...(stopSequences.length === 0 ? {} : { stopSequences }),
  };
  if (Object.keys(inferenceConfig).length > 0) body["inferenceConfig"] = inferenceConfig;
  if (Object.keys(extra).length > 0) body["additionalModelRequestFields"] = extra;
}

/** Claude's own fields, named as in Messages. */
function claudeFields(
  request: IrRequest,
  target: Target,
  maxTokens: number | null,
  dropped: DroppedFields,
): JsonObject {
  const { thinking, effort } = writeThinking(request, target, maxTokens ?? assumedMaxTokens, dropped);
  const fields: JsonObject = {};
  if (thinking !== undefined) fields["thinking"] = thinking;
  addOutputConfig(fields, request, effort);
  return fields;
}

const novaEfforts: Readonly<Record<string, string>> = { minimal: "low", low: "low", medium: "medium" };
const gptOssEfforts: Readonly<Record<string, string>> = {
  none: "low",
  minimal: "low",
  low: "low",
  medium: "medium",
};

function otherFields(request: IrRequest, family: ModelFamily, dropped: DroppedFields): JsonObject {
  const effort = request.reasoning === null ? null : effortOf(request.reasoning);
  if (effort === null) return {};
  if (family === "gpt-oss") return { reasoning_effort: gptOssEfforts[effort] ?? "high" };
  if (family === "nova" && effort === "none") return { reasoningConfig: { type: "disabled" } };
  if (family === "nova")
    return { reasoningConfig: { type: "enabled", maxReasoningEffort: novaEfforts[effort] ?? "high" } };
  if (effort !== "none") dropped.addNamed("effort");
  return {};
}

function tierOf(tier: string): string {
  return tier === "flex" || tier === "priority" ? tier : "default";
}

function dropIdentity({ identity }: IrRequest, dropped: DroppedFields): void {
  if (identity.user !== null) dropped.addNamed("user");
  if (identity.safetyIdentifier !== null) dropped.addNamed("safetyIdentifier");
}
