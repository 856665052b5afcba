import type { JsonObject } from "../../../base/json.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { IdCollector } from "../../provider-response/id-collector.ts";

/** The message's own id counts only if the provider was asked to store the conversation under it. */
export function issuedIds(message: JsonObject, isStored = false): readonly string[] {
  const ids = new IdCollector();
  if (isStored) ids.add(message["id"]);
  ids.addId(message["container"]);
  for (const block of objectsOf(message["content"])) collectBlock(block, ids);
  return ids.all;
}

/** Ids issued by one event of a stream. */
export function issuedIdsOfEvent(event: JsonObject, isStored: boolean): readonly string[] {
  const ids = new IdCollector();
  if (isStored) ids.addId(event["message"]);
  ids.addId(objectOf(event["message"])?.["container"]);
  ids.addId(objectOf(event["delta"])?.["container"]);
  const block = objectOf(event["content_block"]);
  if (block !== null) collectBlock(block, ids);
  return ids.all;
}

/** Only results of hosted tools contain such ids. */
function collectBlock(block: JsonObject, ids: IdCollector): void {
  if (stringOf(block["type"])?.endsWith("_tool_result") === true) ids.addWithin(block);
}
