import { isObject, type JsonObject } from "../../../base/json.ts";
import { listOf, objectOf } from "../../json/json-fields.ts";
import { IdCollector } from "../../usage/id-collector.ts";

const none: readonly string[] = [];

/** The ids of spoken answers, which a later request may refer to. */
export function issuedIds(answer: JsonObject): readonly string[] {
  let ids: IdCollector | null = null;
  for (const choice of listOf(answer["choices"])) {
    if (!isObject(choice)) continue;
    const audio = (objectOf(choice["message"]) ?? objectOf(choice["delta"]))?.["audio"];
    if (audio === undefined) continue;
    ids ??= new IdCollector();
    ids.addId(audio);
  }
  return ids?.all ?? none;
}
