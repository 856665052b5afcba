import { tableOf } from "../../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { ReferenceKind, StoredReference } from "../contract/body-names.ts";
import { objectsOf } from "../json/json-fields.ts";
import { idsIn } from "../json/name-path.ts";
import { IdCollector } from "../provider-response/id-collector.ts";

/**
 * Items of a Responses conversation that refer to what the provider has stored. A provider looks an item up by its id if the
 * item lacks its content, whatever its type is.
 */

const none: readonly StoredReference[] = [];

/** Items that are given by their ids only, and approvals of calls that are not in the request. */
export function storedReferences({ input }: JsonObject): readonly StoredReference[] {
  if (!Array.isArray(input)) return none;
  const found: StoredReference[] = [];
  const refer = (kind: ReferenceKind, id: Json | undefined, ...steps: readonly (string | number)[]) => {
    for (const each of idsIn(id, ["input", ...steps])) found.push({ ...each, kind });
  };
  for (const [index, item] of input.entries()) {
    if (!isObject(item) || item["type"] === "item_reference") continue;
    if (isItemReference(item)) refer("conversation", item["id"], index, "id");
    else if (lacksContent(item)) refer("item", item["id"], index, "id");
  }
  let sent: ReadonlySet<Json | undefined> | null = null;
  for (const [index, item] of input.entries()) {
    const id = isObject(item) ? item["approval_request_id"] : null;
    if (id == null || id === "") continue;
    // An approval of a call that is not in the request is of one that the provider keeps.
    sent ??= new Set(input.map((other) => (isObject(other) ? other["id"] : null)));
    if (!sent.has(id)) refer("item", id, index, "approval_request_id");
  }
  return found;
}

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

/**
 * Requests cannot refer to a response that the provider does not store, nor to its items. This applies if the request
 * asked the provider not to store it, although not every server repeats that, and if the response reports it. An item
 * without content is an exception: clients send it back unchanged, so its owner must be known.
 */
export function issuedIds(response: JsonObject, isStored = true): readonly string[] {
  const ids = new IdCollector();
  const isFound = isStored && response["store"] !== false;
  if (isFound) ids.add(response["id"]);
  ids.addId(response["conversation"]);
  for (const item of objectsOf(response["output"])) {
    if (isFound || lacksContent(item)) ids.add(item["id"]);
    ids.addWithin(item);
  }
  return ids.all;
}
