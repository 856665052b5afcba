import type { RenderedError } from "../../dialects/errors/envelope.ts";
import { dataOf } from "../../dialects/sse/data-field.ts";
import { keepaliveComment } from "../../dialects/sse/frame.ts";
import type { Piece } from "../../gateway/answer/stream-relayer.ts";

const decoder = new TextDecoder();
const blankLine = /\r\n\r\n|\n\n|\r\r/;

/** What clients take for a sign of life. On HTTP it is a comment before the first event, which no frame can be. */
const keepalive = '{"type":"keepalive","sequence_number":0}';

/** The events of a piece of a stream, as JSON. Comments and `[DONE]` are none. */
export function* eventsIn(piece: Piece): Generator<string> {
  if (piece === keepaliveComment) {
    yield keepalive;
    return;
  }
  const text = typeof piece === "string" ? piece : decoder.decode(piece);
  for (const event of text.split(blankLine)) {
    const data = dataOf(event).trimStart();
    if (data.startsWith("{")) yield data;
  }
}

/** The event on its lane. */
export function onLane(event: string, streamId: string | null): string {
  return streamId === null ? event : `{"stream_id":${JSON.stringify(streamId)},${event.slice(1)}`;
}

/** Near its beginning, an event says what it is. */
export function endsResponse(event: string): "completed" | "failed" | null {
  const kind = /^[^[]{0,200}"response\.(completed|incomplete|failed)"/.exec(event)?.[1];
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
