import { isObject, nestsTooDeeply, tryParse } from "../../base/json.ts";
import { dropLargestParts } from "../json/drop-largest-parts.ts";
import { hasTooManyValues, maxKeptValues } from "../json/json-bytes.ts";
import type { ParsedEvent } from "./sse.ts";

/**
 * Larger events take milliseconds to parse: one of 8 MiB 30, and 170 if its text has many escapes. They are parsed on
 * another thread.
 */
export const largeEventBytes = 256 * 1024;

/** Reads an event without its largest parts if it has too many values: the one with the usage can carry the probabilities of all tokens. */
export function parseEvent(data: string): ParsedEvent {
  const isCut = hasTooManyValues(data);
  const text = isCut ? dropLargestParts(Buffer.from(data), maxKeptValues) : data;
  const value = text === null ? null : tryParse(text);
  if (!isObject(value)) return { json: null, isCut };
  return nestsTooDeeply(value, data) ? { json: null, isCut: true } : { json: value, isCut };
}
