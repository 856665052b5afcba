import { GatewayError } from "../../base/errors.ts";
import { isObject, type JsonObject, nestsTooDeeply, tryParse } from "../../base/json.ts";
import { dropLargestParts } from "../json/drop-largest-parts.ts";
import { hasTooManyValues, maxKeptValues } from "../json/json-bytes.ts";

const space = 32;
const lineEnd = /\r\n|\n|\r/;

/** Real events have one line of data. Reading more lines than this would take milliseconds. */
const maxLines = 20_000;

/** The lines of one event. Throws `upstream_error` if it has more than any real one. */
export function linesOf(event: string): string[] {
  const lines = event.split(event.includes("\r") ? lineEnd : "\n", maxLines + 1);
  if (lines.length <= maxLines) return lines;
  throw new GatewayError("upstream_error", `The provider sent an event of more than ${maxLines} lines.`);
}

/** The `data` of one event, its lines joined; "" if it has none, like a comment. */
export function dataOf(event: string): string {
  let data: string | null = null;
  for (const line of linesOf(event)) data = addDataLine(data, line);
  return data ?? "";
}

/** The event's `data` after one more of its lines. Null as long as there was no data line. */
export function addDataLine(data: string | null, line: string): string | null {
  if (line.startsWith("data:")) {
    const value = fieldValue(line, 5);
    return data === null ? value : `${data}\n${value}`;
  }
  if (line !== "data") return data;
  return data === null ? "" : `${data}\n`;
}

/** The rest of a line after its colon, without the one space that may follow it. */
export function fieldValue(line: string, from: number): string {
  return line.slice(line.charCodeAt(from) === space ? from + 1 : from);
}

/** Whether the data ends a stream of OpenAI's form. Its clients accept the mark with anything after it. */
export function isDoneMark(data: string): boolean {
  return !data.startsWith("{") && data.trimStart().startsWith("[DONE]");
}

/** The data of an event as JSON. */
export interface ParsedEvent {
  /** Null if it is not an object, or if nothing of it would be left. */
  readonly json: JsonObject | null;
  /** Too many values or levels to parse completely: the largest parts are replaced by null. */
  readonly isCut: boolean;
}

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

/**
 * Tests whether an event has one of these types, which announce a response: by its `event` line, or else by a `type` at
 * the beginning of its data.
 */
export function openingTest(...types: readonly string[]): (event: string) => boolean {
  const names = types.map((type) => type.replaceAll(".", "\\.")).join("|");
  const opening = new RegExp(
    `^(?:event: ?(?:${names})(?:\\n|$)|data: ?\\{\\s*"type"\\s*:\\s*"(?:${names})")`,
  );
  return (event) => opening.test(event);
}
