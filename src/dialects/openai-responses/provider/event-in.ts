import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { malformedEvent } from "../../errors/failure.ts";
import { hasTooManyValues, mostParsedValues } from "../../json/count-values.ts";
import { parseObject, stringOf } from "../../json/json-fields.ts";
import { shallowJson } from "../../json/shallow-json.ts";
import type { SseFrame } from "../../sse/frame.ts";

export interface ResponsesEvent {
  readonly type: string;
  readonly json: JsonObject;
  /** It has too many values to be parsed whole, and null is in the place of its largest parts. */
  readonly isCut: boolean;
}

/**
 * Most of a large event repeats what was streamed before: a response ends with all of its items, and each of its texts
 * with the probabilities of all of its tokens, which are hundreds of thousands of values. It is read without its largest
 * parts. Throws `upstream_error` if nothing would be left.
 */
export function readEvent({ event, data }: SseFrame): ResponsesEvent {
  const whole = parseObject(data);
  const json = whole ?? parseShallow(data);
  if (json === null) throw malformedEvent(data, "an event that is no JSON object");
  return { type: stringOf(json["type"]) ?? event, json, isCut: whole === null };
}

/** Null for an event that has not too many values, too. */
function parseShallow(data: string): JsonObject | null {
  const shallow = hasTooManyValues(data) ? shallowJson(Buffer.from(data), mostParsedValues) : null;
  return shallow === null ? null : parseObject(shallow);
}

/** Whether nothing is missing that is read of an item, although its event was cut. */
export function isReadable(item: Json): item is JsonObject {
  if (!isObject(item)) return false;
  return [item["content"], item["summary"]].every((parts) => parts === undefined || isListOfObjects(parts));
}

function isListOfObjects(parts: Json): boolean {
  return Array.isArray(parts) && parts.every(isObject);
}
