import type { JsonObject } from "../../base/json.ts";
import { isZero, nonEmpty, objectOf } from "../json/json-fields.ts";

/**
 * What a call, a fragment of one or a choice says of a custom tool; null if it is about a function. Servers in Go write both,
 * with empty values in the one that is not meant, so the one that has a name counts, or else the one that says something.
 */
export function customPart(part: JsonObject): JsonObject | null {
  const custom = objectOf(part["custom"]);
  const called = objectOf(part["function"]);
  if (custom === null || called === null) return custom;
  if (isZero(called)) return isZero(custom) && part["type"] !== "custom" ? null : custom;
  return nonEmpty(called["name"]) !== null || isZero(custom) ? null : custom;
}
