import type { JsonObject } from "../../../base/json.ts";
import { objectsOf } from "../../json/json-fields.ts";
import { IdCollector } from "../../usage/id-collector.ts";

/** A response that is not stored cannot be referred to, nor can its items. */
export function givenIds(response: JsonObject): readonly string[] {
  const ids = new IdCollector();
  const isStored = response["store"] !== false;
  if (isStored) ids.add(response["id"]);
  ids.addId(response["conversation"]);
  for (const item of objectsOf(response["output"])) {
    if (isStored) ids.add(item["id"]);
    ids.addWithin(item);
  }
  return ids.all;
}
