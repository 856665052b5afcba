import type { RenderedError } from "../../dialects/errors/envelope.ts";
import { dataOf } from "../../dialects/sse/data-field.ts";
import { keepaliveComment } from "../../dialects/sse/sse.ts";
import type { Piece } from "../../gateway/exchange/client-call.ts";

/** Each line may have an end of its own kind. */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/;
/** The decoder drops a byte order mark at the start of a piece. */
const byteOrderMark = /^\ufeff/;
const dataStart = "data: {";
/** How nearly all data begins. */
const outputStart = `${dataStart}"type":"response.output_`;
const letterE = "e".charCodeAt(0);
const closingBrace = "}".charCodeAt(0);
const lineFeed = "\n".charCodeAt(0);

/** The heartbeat on a socket. Over HTTP it is a comment before the first event, but a frame cannot be a comment. */
const keepalive = '{"type":"keepalive","sequence_number":0}';

/** Drops a byte order mark before an event, as all stream readers do. */
const decoder = new TextDecoder();

export function textOf(piece: Piece): string {
  return typeof piece === "string" ? piece : decoder.decode(piece);
}

/** `isOutput`: the event is part of the output and does not end a response. False for a few that are not recognized. */
type EventTaker = (event: string, isOutput: boolean) => void;

/** Passes the events of a stream piece to `take`, as JSON. Skips comments, `[DONE]` and truncated events. */
export function eachEvent(text: string, take: EventTaker): void {
  if (text === keepaliveComment) {
    take(keepalive, false);
    return;
  }
  const odd = text.includes("\r") ? 0 : eachUsualEvent(text, take);
  if (odd < text.length) eachOddEvent(text.slice(odd), take);
}

/**
 * Nearly all events have a name and one line of data, or only the data, and most start like the one before. Returns the
 * index of the first event in another form, or the text's length.
 */
function eachUsualEvent(text: string, take: EventTaker): number {
  let start = outputStart;
  let at = 0;
  while (at < text.length) {
    let isOutput = text.startsWith(start, at);
    let line = at + start.length - outputStart.length;
    if (!isOutput) {
      line = text.charCodeAt(at) === letterE ? text.indexOf("\n", at) + 1 : at;
      start = text.slice(at, line) + outputStart;
      isOutput = text.startsWith(start, at);
    }
    const end = text.indexOf("\n", line);
    if (text.charCodeAt(end - 1) !== closingBrace || text.charCodeAt(end + 1) !== lineFeed) break;
    // If a name has no line end, `line` is 0 and must not restart the loop.
    if (line < at || !(isOutput || text.startsWith(dataStart, line))) break;
    take(text.slice(line + dataStart.length - 1, end), isOutput);
    at = end + 2;
  }
  return at;
}

function eachOddEvent(text: string, take: EventTaker): void {
  for (const event of text.split(blankLine)) {
    const data = dataOf(event.replace(byteOrderMark, "")).trim();
    if (data.startsWith("{") && data.endsWith("}")) take(data, false);
  }
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
