import { isObject, type JsonObject, nestsTooDeeply, tryParse } from "../../base/json.ts";
import { eventTooLarge, malformedAnswer } from "../errors/failure.ts";
import { dropLargestParts } from "../json/drop-largest-parts.ts";
import { hasMoreValuesThan, hasTooManyValues, maxKeptValues, maxParsedValues } from "../json/json-bytes.ts";
import { parseObject } from "../json/json-fields.ts";
import { rawEvent } from "./raw-events.ts";
import type { ParsedEvent, SseFrame } from "./sse.ts";

/**
 * Larger events take milliseconds to parse: one of 8 MiB 30, and 170 if its text has many escapes. They are parsed on
 * another thread.
 */
export const largeEventBytes = 256 * 1024;

/**
 * The data of an event that is translated, or the bytes of one that passes through, of which only figures and texts are
 * read. Takes its time: not for the event loop.
 */
export function parseLargeEvent(source: string | Uint8Array): ParsedEvent {
  return typeof source === "string"
    ? parseEvent(source)
    : parseAtMost(rawEvent(source, 0).data, maxKeptValues);
}

/** Reads an event without its largest parts if it has too many values. */
export function parseEvent(data: string): ParsedEvent {
  return parseAtMost(data, maxParsedValues);
}

function parseAtMost(data: string, max: number): ParsedEvent {
  const isCut = hasMoreValuesThan(data, max);
  const text = isCut ? dropLargestParts(Buffer.from(data), maxKeptValues) : data;
  const value = text === null ? null : tryParse(text);
  if (!isObject(value)) return { json: null, isCut };
  return nestsTooDeeply(value, data) ? { json: null, isCut: true } : { json: value, isCut };
}

/** For readers that need all of an event. Throws `upstream_error` if it is not a JSON object, or has too many values. */
export function wholeObjectIn({ data, parsed }: SseFrame, what: string): JsonObject {
  const json = parsed === undefined ? parseObject(data) : parsed.isCut ? null : parsed.json;
  if (json !== null) return json;
  throw (parsed?.isCut ?? hasTooManyValues(data)) ? eventTooLarge() : malformedAnswer(what);
}
