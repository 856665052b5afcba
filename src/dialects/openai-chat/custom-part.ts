import type { JsonObject } from "../../base/json.ts";
import { isZero, nonEmpty, objectOf } from "../json/json-fields.ts";

/**
 * The custom tool in a call, a fragment of one or a choice; null if it is about a function. Servers in Go write both,
 * with empty values in the unused one, so the one with a name counts, or else the one that is not empty.
 */
export function customPart(part: JsonObject): JsonObject | null {
  const custom = objectOf(part["custom"]);
  const called = objectOf(part["function"]);
  if (custom === null || called === null) return custom;
  if (isZero(called)) return isZero(custom) && part["type"] !== "custom" ? null : custom;
  return nonEmpty(called["name"]) !== null || isZero(custom) ? null : custom;
}
