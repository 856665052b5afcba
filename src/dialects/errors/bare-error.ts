import { isObject, type JsonObject, tryParse } from "../../base/json.ts";

/** What a provider says in bare JSON: an object, alone or in a list of one, as Google has it; null for other text. */
export function saidIn(text: string): JsonObject | null {
  const value = tryParse(text);
  const said = Array.isArray(value) ? value[0] : value;
  return isObject(said) ? said : null;
}

/** Reads an error sent as bare JSON instead of an event; null for other text. */
export function errorIn(text: string): JsonObject | null {
  const said = saidIn(text);
  return isObject(said?.["error"]) ? said : null;
}
