import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { eventTooLarge, malformedAnswer } from "../../errors/failure.ts";
import { stringOf } from "../../json/json-fields.ts";
import { parseEvent } from "../../sse/parse-event.ts";
import type { SseFrame } from "../../sse/sse.ts";

export interface ResponsesEvent {
  readonly type: string;
  readonly json: JsonObject;
  /** Null is in the place of its largest parts. */
  readonly isCut: boolean;
}

/**
 * Most of a large event repeats what was streamed before: a response ends with all of its items, and each of its texts
 * with the probabilities of all of its tokens, which are hundreds of thousands of values. It is read without its largest
 * parts. Throws `upstream_error` if nothing would be left.
 */
export function readEvent({ event, data, parsed }: SseFrame): ResponsesEvent {
  const { json, isCut } = parsed ?? parseEvent(data);
  if (json === null) throw isCut ? eventTooLarge() : malformedAnswer("an event that is not a JSON object");
  return { type: stringOf(json["type"]) ?? event, json, isCut };
}

/** Whether nothing is missing that is read of an item, although its event was cut. */
export function isReadable(item: Json): item is JsonObject {
  if (!isObject(item)) return false;
  const { content = [], summary = [] } = item;
  return [content, summary].every((parts) => Array.isArray(parts) && parts.every(isObject));
}

/** Measures reasoning that only OpenAI can read. An item may have some of it when it is announced, and all when it is done. */
export class SealedItems {
  /** By the item's index. */
  readonly #charsByItem = new Map<Json | undefined, number>();

  /** How much an event adds. */
  charsIn({ item, output_index: index }: JsonObject): number {
    if (!isObject(item)) return 0;
    const chars = stringOf(item["encrypted_content"])?.length ?? 0;
    const known = this.#charsByItem.get(index) ?? 0;
    if (chars <= known) return 0;
    this.#charsByItem.set(index, chars);
    return chars - known;
  }
}
