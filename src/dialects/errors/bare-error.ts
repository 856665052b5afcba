import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** Reads an error sent as bare JSON instead of an event, alone or in a list of one; null for other text. */
export function errorIn(text: string): JsonObject | null {
  try {
    const value: Json = JSON.parse(text);
    const said = Array.isArray(value) ? value[0] : value;
    return isObject(said) && isObject(said["error"]) ? said : null;
  } catch {
    return null;
  }
}
