import { tableOf } from "../../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/**
 * Items of a Responses conversation that refer to what the provider has stored. A provider looks an item up by its id if the
 * item lacks its content, whatever its type is.
 */

/** A reference and nothing else: of that type, or with neither a type nor a role: both are optional. */
export function isItemReference(item: Json | undefined): item is JsonObject {
  if (!isObject(item) || isEmpty(item["id"])) return false;
  return item["type"] === "item_reference" || (isEmpty(item["type"]) && isEmpty(item["role"]));
}

/** The member that has the content, for items whose other members only accompany it. */
const contentMembers = tableOf<string>({
  message: "content",
  reasoning: "encrypted_content",
  compaction: "encrypted_content",
  compaction_summary: "encrypted_content",
  image_generation_call: "result",
});

/** Fields that place an item, and hold none of its content. */
const envelope: ReadonlySet<string> = new Set(["type", "id", "role", "status", "phase", "call_id"]);

/** Whether the item has an id and lacks its content. */
export function lacksContent(item: JsonObject): boolean {
  if (isEmpty(item["id"])) return false;
  const type = isEmpty(item["type"]) ? "message" : item["type"];
  const member = typeof type === "string" ? contentMembers[type] : undefined;
  if (member !== undefined) return !isContent(item[member]);
  for (const name in item) if (!envelope.has(name) && !isEmpty(item[name])) return false;
  return true;
}

/** All content that is not in parts is text: an object or a number in its place says nothing. */
function isContent(value: Json | undefined): boolean {
  return (typeof value === "string" || Array.isArray(value)) && value.length > 0;
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
