import type { JsonObject } from "../../../base/json.ts";
import { objectsOf } from "../../json/json-fields.ts";
import { IdCollector } from "../../provider-response/id-collector.ts";
import { lacksContent } from "../stored-items.ts";

/**
 * A response that the provider does not store cannot be referred to, nor can its items: neither where the provider was asked not to store
 * it, although not every server repeats that, nor where it says so. An item without content is different. Clients send it back as it is, so
 * it must be known whose it is.
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
