import { isObject, type JsonObject } from "../../../base/json.ts";
import { listOf, objectOf } from "../../json/json-fields.ts";
import { IdCollector } from "../../usage/id-collector.ts";

export function givenIds(answer: JsonObject): readonly string[] {
  const ids = new IdCollector();
  for (const choice of listOf(answer["choices"])) {
    if (!isObject(choice)) continue;
    ids.addId((objectOf(choice["message"]) ?? objectOf(choice["delta"]))?.["audio"]);
  }
  return ids.all;
}
