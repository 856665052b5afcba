import { isObject, type JsonObject, tryParse } from "../../base/json.ts";

/** A provider's error in bare JSON: an object, alone or in a list of one, as Google sends it; null for other text. */
export function bareObjectIn(text: string): JsonObject | null {
  const value = tryParse(text);
  const body = Array.isArray(value) ? value[0] : value;
  return isObject(body) ? body : null;
}

/** Reads an error sent as bare JSON instead of an event; null for other text. */
export function errorIn(text: string): JsonObject | null {
  const body = bareObjectIn(text);
  return isObject(body?.["error"]) ? body : null;
}
