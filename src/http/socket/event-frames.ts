import type { RenderedError } from "../../dialects/errors/envelope.ts";
import { dataOf } from "../../dialects/sse/event.ts";
import { keepaliveComment } from "../../dialects/sse/sse.ts";
import type { Piece } from "../../gateway/exchange/client-call.ts";

/** The two line ends can be of different kinds. */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/;
/** The decoder drops a byte order mark at the start of a piece. */
const byteOrderMark = /^\ufeff/;
/** The heartbeat on a socket. Over HTTP it is a comment before the first event, but a frame cannot be a comment. */
const keepalive = '{"type":"keepalive","sequence_number":0}';

/** Drops a byte order mark before an event, as all stream readers do. */
const decoder = new TextDecoder();

export function textOf(piece: Piece): string {
  return typeof piece === "string" ? piece : decoder.decode(piece);
}

/** The events of a piece of a stream, as JSON. Comments, `[DONE]` and truncated events are skipped. */
export function eventsIn(text: string): readonly string[] {
  if (text === keepaliveComment) return [keepalive];
  return text
    .split(text.includes("\r") ? blankLine : "\n\n")
    .map((event) => dataOf(event.replace(byteOrderMark, "")).trim())
    .filter((data) => data.startsWith("{") && data.endsWith("}"));
}

/** The event on its stream. */
export function onStream(event: string, streamId: string | null): string {
  return streamId === null ? event : `{"stream_id":${JSON.stringify(streamId)},${event.slice(1)}`;
}

/** Headers that belong to the body of an HTTP response. */
const notShown: ReadonlySet<string> = new Set(["content-type", "cache-control", "connection"]);

/** An error that clients of HTTP would get as a response. */
export function errorFrame({ status, headers, body }: RenderedError, streamId: string | null): string {
  const { error } = JSON.parse(body);
  const shown = Object.fromEntries(Object.entries(headers).filter(([name]) => !notShown.has(name)));
  return onStream(JSON.stringify({ type: "error", status, error, headers: shown }), streamId);
}
