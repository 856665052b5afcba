import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** An error as JSON text that is no server-sent event, alone or in a list of one; null if the text is no such thing. */
export function errorIn(text: string): JsonObject | null {
  try {
    const value: Json = JSON.parse(text);
    const said = Array.isArray(value) ? value[0] : value;
    return isObject(said) && isObject(said["error"]) ? said : null;
  } catch {
    return null;
  }
}
