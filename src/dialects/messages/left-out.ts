import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { objectOf, objectsOf } from "../json-fields.ts";
import { type Notes, noteOthers } from "../notes.ts";
import { blocksOf } from "./content-in.ts";

/** Fields that are read; every other one is left out, and said so. */
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

/** What a request says that no other dialect can, and that its reader therefore passes over. */
export function noteLeftOut(body: JsonObject, notes: Notes): void {
  noteOthers(body, bodyFields, notes);
  noteOthers(objectOf(body["output_config"]) ?? {}, outputFields, notes, (field) => `output_config.${field}`);
  noteOthers(objectOf(body["metadata"]) ?? {}, metadataFields, notes, (field) => `metadata.${field}`);
  for (const tool of objectsOf(body["tools"])) {
    const ownFunction = tool["type"] === undefined || tool["type"] === "custom";
    if (ownFunction) noteOthers(tool, toolFields, notes, (field) => `tools[].${field}`);
  }
  if (objectsOf(body["messages"]).some(({ content }) => hasCitations(content))) notes.drop("citations");
}

/** Citations that are asked for, or that an earlier answer had. */
function hasCitations(content: Json | undefined): boolean {
  return blocksOf(content).some(({ citations, content: inner }) => {
    const has = Array.isArray(citations)
      ? citations.length > 0
      : isObject(citations) && citations["enabled"] === true;
    return has || (Array.isArray(inner) && hasCitations(inner));
  });
}
