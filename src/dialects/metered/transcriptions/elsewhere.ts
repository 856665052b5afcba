import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { pathOf } from "../../json/name-path.ts";

/** Groq's, Mistral's and Fireworks's names for the URL of audio that the provider fetches, and similar names. */
const addressName = /ur[il]s?(?:\[\d*\])?$/i;
const fileName = /^file(?:\[\d*\])?$/i;

/** The path of audio that the request only links to, so that its length is unknown; null if there is none. */
export function soundElsewhere(body: JsonObject): string | null {
  return addressIn(body, []);
}

function addressIn(value: Json | undefined, path: readonly (string | number)[]): string | null {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = addressIn(item, [...path, index]);
      if (found !== null) return found;
    }
    return null;
  }
  if (!isObject(value)) return null;
  for (const [name, member] of Object.entries(value)) {
    const isTop = path.length === 0;
    const isAddress = addressName.test(name) || (isTop && fileName.test(name));
    const at = [...path, name];
    if (isAddress && member != null && member !== "") return pathOf(at);
    const found = addressIn(member, at);
    if (found !== null) return found;
  }
  return null;
}
