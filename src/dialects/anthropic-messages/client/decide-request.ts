import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { listOf, objectsOf } from "../../json/json-fields.ts";
import type { DroppedFields } from "../../translation/dropped-fields.ts";
import { decideFields, decideParts } from "../../translation/field-decisions.ts";
import {
  blockFields,
  messageFields,
  metadataFields,
  outputConfigFields,
  requestFields,
  thinkingFields,
  toolFields,
} from "./fields.ts";

/** Rejects or reports the parts of a request that no other dialect can express. */
export function decideRequest(body: JsonObject, dropped: DroppedFields): void {
  decideFields(body, requestFields, dropped);
  const { output_config: config, metadata, thinking } = body;
  if (isObject(config)) decideFields(config, outputConfigFields, dropped, "output_config.");
  if (isObject(metadata)) decideFields(metadata, metadataFields, dropped, "metadata.");
  if (isObject(thinking)) decideFields(thinking, thinkingFields, dropped, "thinking.");
  for (const tool of objectsOf(body["tools"])) {
    if ((tool["type"] ?? "custom") === "custom") decideFields(tool, toolFields, dropped, "tools[].");
  }
  for (const message of listOf(body["messages"])) {
    if (!isObject(message)) continue;
    decideFields(message, messageFields, dropped, "messages[].");
    decideParts(message["content"], blockFields, dropped);
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
