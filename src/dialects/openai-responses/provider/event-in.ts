import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { stringOf } from "../../json/json-fields.ts";

/** Whether nothing is missing that is read of an item, although its event was cut. */
export function isReadable(item: Json): item is JsonObject {
  if (!isObject(item)) return false;
  const { content = [], summary = [] } = item;
  return [content, summary].every((parts) => Array.isArray(parts) && parts.every(isObject));
}

/** Measures reasoning that only OpenAI can read. An item may have some of it when it is announced, and all when it is done. */
export class EncryptedReasoning {
  /** Characters so far, by the item's index. */
  readonly #charsByItem = new Map<Json | undefined, number>();

  /** Number of characters that an event adds. */
  charsIn({ item, output_index: index }: JsonObject): number {
    if (!isObject(item)) return 0;
    const chars = stringOf(item["encrypted_content"])?.length ?? 0;
    const known = this.#charsByItem.get(index) ?? 0;
    if (chars <= known) return 0;
    this.#charsByItem.set(index, chars);
    return chars - known;
  }
}
