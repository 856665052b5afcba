import { assert } from "../../base/assert.ts";
import { asBuffer, lengthOf, releaseBytes } from "../../base/bytes.ts";
import { largeEventBytes } from "../../dialects/sse/event.ts";
import { inParts } from "../body-worker/large-body.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { pacedResponse } from "./paced-response.ts";

/** The runtime keeps its copy of a body for as long as a slow client takes, and this much at most for each. */
const maxCopiedBytes = 64 * 1024;

/** Bytes to write per event-loop iteration. */
const maxWrittenBytes = 1024 * 1024;

/** The head of a response with a body. */
interface ResponseHead {
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Builds the response. The caller must not use `body` afterwards. */
export function bodyResponse(exchange: Exchange, body: readonly Piece[], head: ResponseHead): Response {
  if (lengthOf(body) > maxCopiedBytes) return largeResponse(exchange, body.map(bytesOf), head);
  const [first = ""] = body;
  const whole = body.length <= 1 ? first : Buffer.concat(body.map(bytesOf));
  const { status = 200 } = head;
  const response = status === 200 ? new Response(whole) : new Response(whole, { status });
  // Set one by one: the constructor would take half as long again to read them from an object.
  const { headers } = response;
  for (const name in head.headers) headers.set(name, head.headers[name] as string);
  // The response has a copy.
  release(body);
  return response;
}

function release(body: readonly Piece[]): void {
  for (const piece of body) if (typeof piece !== "string") releaseBytes(piece);
}

/**
 * Writes a large body as its client reads it: the runtime would copy all of it, and keep it for as long as a slow client takes.
 * The exchange's memory is released afterwards.
 */
function largeResponse(exchange: Exchange, body: readonly Uint8Array[], head: ResponseHead): Response {
  const { call, taken } = exchange;
  taken.memory?.shrinkTo(lengthOf(body));
  const parts = call.takeStream ? eventParts(onlyOf(body)) : inParts(body, maxWrittenBytes);
  return pacedResponse(exchange, { pieces: () => withRest(parts) }, head);
}

function* withRest(parts: Generator<Uint8Array, Uint8Array>): Generator<Uint8Array> {
  yield yield* parts;
}

function onlyOf([body, ...others]: readonly Uint8Array[]): Uint8Array {
  assert(body !== undefined && others.length === 0, "what becomes frames is in one piece");
  return body;
}

/** Cuts the body after events, which become frames. A single event may be longer. */
function* eventParts(body: Uint8Array): Generator<Uint8Array, Uint8Array> {
  let at = 0;
  for (;;) {
    const end = Math.min(...blankLines.map((blank) => endOf(body, blank, at + largeEventBytes)));
    if (end >= body.length) return body.subarray(at);
    yield body.subarray(at, end);
    at = end;
  }
}

const blankLines = ["\n\n", "\r\n\r\n"];

function endOf(body: Uint8Array, mark: string, from: number): number {
  const at = asBuffer(body).indexOf(mark, from);
  return at === -1 ? body.length : at + mark.length;
}
