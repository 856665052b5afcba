import type { RenderedError } from "../../dialects/errors/envelope.ts";
import { dataOf } from "../../dialects/sse/data-field.ts";
import { keepaliveComment } from "../../dialects/sse/sse.ts";
import type { Piece } from "../../gateway/answer/stream-relayer.ts";

/** Each line may have an end of its own kind. */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/;
const dataStart = "data: {";
const letterE = "e".charCodeAt(0);
const closingBrace = "}".charCodeAt(0);
const lineFeed = "\n".charCodeAt(0);

/** What clients take for a sign of life. On HTTP it is a comment before the first event, which no frame can be. */
const keepalive = '{"type":"keepalive","sequence_number":0}';

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export function textOf(piece: Piece): string {
  return typeof piece === "string" ? piece : decoder.decode(piece);
}

/** The events of a piece of a stream, as JSON. Comments, `[DONE]` and what a provider has cut off are none. */
export function eventsIn(text: string): readonly string[] {
  if (text === keepaliveComment) return [keepalive];
  if (text.includes("\r")) return oddEvents(text);
  const found: string[] = [];
  // Nearly all have a name and one line of data, or only that.
  for (let at = 0; at < text.length; ) {
    const line = text.charCodeAt(at) === letterE ? text.indexOf("\n", at) + 1 : at;
    const end = text.indexOf("\n", line);
    // Where a name has no line end, `line` is 0, and must not begin all again.
    const isUsual = text.charCodeAt(end - 1) === closingBrace && text.charCodeAt(end + 1) === lineFeed;
    if (line < at || !text.startsWith(dataStart, line) || !isUsual) {
      return [...found, ...oddEvents(text.slice(at))];
    }
    found.push(text.slice(line + dataStart.length - 1, end));
    at = end + 2;
  }
  return found;
}

function oddEvents(text: string): readonly string[] {
  const events = text.split(blankLine).map((event) => dataOf(event).trim());
  return events.filter((data) => data.startsWith("{") && data.endsWith("}"));
}

/** The event on its lane. */
export function onLane(event: string, streamId: string | null): string {
  return streamId === null ? event : `{"stream_id":${JSON.stringify(streamId)},${event.slice(1)}`;
}

/** Headers that belong to the body of an HTTP response. */
const notShown: ReadonlySet<string> = new Set(["content-type", "cache-control", "connection"]);

/** An error that clients of HTTP would get as a response. */
export function errorFrame({ status, headers, body }: RenderedError, streamId: string | null): string {
  const { error } = JSON.parse(body);
  const shown = Object.fromEntries(Object.entries(headers).filter(([name]) => !notShown.has(name)));
  return onLane(JSON.stringify({ type: "error", status, error, headers: shown }), streamId);
}
