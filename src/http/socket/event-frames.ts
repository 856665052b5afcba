import { asBuffer } from "../../base/as-buffer.ts";
import type { RenderedError } from "../../dialects/errors/envelope.ts";
import { dataOf } from "../../dialects/sse/data-field.ts";
import { keepaliveComment } from "../../dialects/sse/sse.ts";
import type { Piece } from "../../gateway/answer/stream-relayer.ts";

/** Each line may have an end of its own kind. */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/;
const dataStart = "data: {";

/** What clients take for a sign of life. On HTTP it is a comment before the first event, which no frame can be. */
const keepalive = '{"type":"keepalive","sequence_number":0}';

/** The events of a piece of a stream, as JSON. Comments and `[DONE]` are none. */
export function eventsIn(piece: Piece): readonly string[] {
  if (piece === keepaliveComment) return [keepalive];
  const text = typeof piece === "string" ? piece : asBuffer(piece).toString();
  if (text.includes("\r")) return oddEvents(text);
  const found: string[] = [];
  // Nearly all have a name and one line of data, or only that.
  for (let at = 0; at < text.length; ) {
    const line = text.startsWith("event:", at) ? text.indexOf("\n", at) + 1 : at;
    const end = text.indexOf("\n", line);
    // Where a name has no line end, `line` is 0, and must not begin all again.
    if (line < at || !text.startsWith(dataStart, line) || !text.startsWith("\n\n", end)) {
      return [...found, ...oddEvents(text.slice(at))];
    }
    found.push(text.slice(line + dataStart.length - 1, end));
    at = end + 2;
  }
  return found;
}

function oddEvents(text: string): readonly string[] {
  const events = text.split(blankLine).map((event) => dataOf(event).trimStart());
  return events.filter((data) => data.startsWith("{"));
}

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
