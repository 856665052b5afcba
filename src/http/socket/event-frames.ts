import type { RenderedError } from "../../dialects/errors/envelope.ts";
import { dataOf } from "../../dialects/sse/data-field.ts";
import { keepaliveComment } from "../../dialects/sse/frame.ts";
import type { Piece } from "../../gateway/answer/stream-relayer.ts";

const decoder = new TextDecoder();
const oddBlankLine = /\r\n\r\n|\n\n|\r\r/;
const blankLine = "\n\n";
const dataLine = "\ndata: ";

/** What clients take for a sign of life. On HTTP it is a comment before the first event, which no frame can be. */
const keepalive = '{"type":"keepalive","sequence_number":0}';

/** The events of a piece of a stream, as JSON. Comments and `[DONE]` are none. */
export function eventsIn(piece: Piece): readonly string[] {
  if (piece === keepaliveComment) return [keepalive];
  const text = typeof piece === "string" ? piece : decoder.decode(piece);
  const events = text.split(text.includes("\r") ? oddBlankLine : blankLine);
  const found: string[] = [];
  for (const event of events) {
    const data = jsonIn(event);
    if (data.startsWith("{")) found.push(data);
  }
  return found;
}

/** Nearly all events have a name and one line of data, or only that. Searching for it takes a fifth of reading line by line. */
function jsonIn(event: string): string {
  const line = event.startsWith("data: ") ? -1 : event.indexOf(dataLine);
  const start = line + dataLine.length;
  const isFound = line !== -1 || event.startsWith("data: ");
  const isOneLine = isFound && event.charCodeAt(start) === brace && event.indexOf("\n", start) === -1;
  return isOneLine ? event.slice(start) : dataOf(event).trimStart();
}

const brace = "{".charCodeAt(0);

/** The event on its lane. */
export function onLane(event: string, streamId: string | null): string {
  return streamId === null ? event : `{"stream_id":${JSON.stringify(streamId)},${event.slice(1)}`;
}

/**
 * Near its beginning, an event says what it is; a text that is called like an end is none. Those of deltas, which are most, have no
 * response in them.
 */
export function endsResponse(event: string): "completed" | "failed" | null {
  if (!event.includes('"response"')) return null;
  const kind = /^[^[]{0,200}"type"\s*:\s*"response\.(completed|incomplete|failed)"/.exec(event)?.[1];
  if (kind === undefined) return null;
  return kind === "failed" ? "failed" : "completed";
}

/** Headers that belong to the body of an HTTP response. */
const notShown: ReadonlySet<string> = new Set(["content-type", "cache-control", "connection"]);

/** An error that clients of HTTP would get as a response. */
export function errorFrame({ status, headers, body }: RenderedError, streamId: string | null): string {
  const { error } = JSON.parse(body);
  const shown = Object.fromEntries(Object.entries(headers).filter(([name]) => !notShown.has(name)));
  return onLane(JSON.stringify({ type: "error", status, error, headers: shown }), streamId);
}
