import type { JsonObject } from "../../../base/json.ts";
import { objectsOf } from "../../json/json-fields.ts";
import { IdCollector } from "../../provider-response/id-collector.ts";
import { lacksContent } from "../stored-items.ts";

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
