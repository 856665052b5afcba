import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { listOf, objectOf } from "../../dialects/json/json-fields.ts";

/** Fields by which a provider runs the model several times for one request, and bills each time. */

/** A run that summarizes the conversation, before the answer or in its place. */
export function asksForCompaction(body: JsonObject): boolean {
  return (body["compaction"] ?? null) !== null || mayCompactFirst(body);
}

/** Whether the conversation may be summarized before it is answered: it is then read twice. */
export function mayCompactFirst({ context_management: management }: JsonObject): boolean {
  return editsOf(management).some(isCompaction);
}

/** OpenAI has a list of what is done to the conversation, Anthropic has it within an object. */
function editsOf(management: Json | undefined): readonly Json[] {
  return Array.isArray(management) ? management : listOf(objectOf(management)?.["edits"]);
}

/** `compaction`, `compact_20260112`, … */
function isCompaction(edit: Json): boolean {
  return isObject(edit) && typeof edit["type"] === "string" && edit["type"].startsWith("compact");
}
