import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { listOf, objectsOf } from "../../json/json-fields.ts";
import { type DroppedFields, dropOthers } from "../../translation/dropped-fields.ts";

/** Fields that are translated. All others are dropped and reported. */
const bodyFields: ReadonlySet<string> = new Set([
  ...["model", "messages", "system", "stream", "tools", "tool_choice", "thinking", "output_config"],
  ...["output_format", "max_tokens", "stop_sequences", "temperature", "top_p", "top_k", "metadata"],
  "service_tier",
]);
const toolFields: ReadonlySet<string> = new Set([
  ...["type", "name", "description", "input_schema", "strict", "cache_control"],
]);
const outputFields: ReadonlySet<string> = new Set(["effort", "format"]);
const metadataFields: ReadonlySet<string> = new Set(["user_id"]);

/** Reports the parts of a request that no other dialect can express. */
export function dropUnsupported(body: JsonObject, dropped: DroppedFields): void {
  dropOthers(body, bodyFields, dropped);
  const { output_config: config, metadata } = body;
  if (isObject(config)) dropOthers(config, outputFields, dropped, "output_config.");
  if (isObject(metadata)) dropOthers(metadata, metadataFields, dropped, "metadata.");
  for (const tool of objectsOf(body["tools"])) {
    if ((tool["type"] ?? "custom") === "custom") dropOthers(tool, toolFields, dropped, "tools[].");
  }
  if (listOf(body["messages"]).some(hasCitations)) dropped.add("citations");
}

/** Citations that are requested or that an earlier answer has, at any level of the content. */
function hasCitations(holder: Json): boolean {
  const content = isObject(holder) ? holder["content"] : null;
  return Array.isArray(content) && content.some((block) => isCited(block) || hasCitations(block));
}

function isCited(block: Json): boolean {
  const citations = isObject(block) ? block["citations"] : null;
  return Array.isArray(citations)
    ? citations.length > 0
    : isObject(citations) && citations["enabled"] === true;
}
