import { releaseBytes } from "../../base/bytes.ts";
import { largeBodyBytes } from "../body-worker/is-large.ts";
import { joinShared } from "../body-worker/join-shared.ts";
import type { ReadableRequest } from "../exchange/client-call.ts";

/** The limits for one body. */
export interface BodyLimit {
  readonly maxBytes: number;
  tooLarge(): Error;
  /** Reserves memory for more bytes. Throws when there is none. */
  take(bytes: number): void;
}

/** An exchange, whose signal is made only where it is asked for. */
type Ending = Pick<AbortController, "signal">;

/**
 * The request's bytes, refused as soon as they are known to be too many: by the length the client announced, or,
 * where it announced none, while they come in. Until they are read here, they wait in the client's connection.
 *
 * Large ones are read piece by piece: room is taken for what has really come, not for what a client has announced.
 * They end up in shared memory, where other threads can look at them without a copy of their own.
 * The rest of one is not read once its exchange has ended.
 */
export function readBody(
  request: ReadableRequest,
  limit: BodyLimit,
  exchange: Ending = request,
): Promise<Uint8Array> {
  const announced = request.headers.get("content-length");
  const length = announced === null ? null : Number(announced);
  if (length !== null && length > limit.maxBytes) throw limit.tooLarge();
  if (length !== null && length < largeBodyBytes) {
    limit.take(length);
    return request.bytes();
  }
  return readPieces(request, limit, exchange);
}

async function readPieces(
  request: ReadableRequest,
  limit: BodyLimit,
  { signal }: Ending,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  try {
    const bytes = await collect(request, limit, signal, pieces);
    return bytes < largeBodyBytes ? Buffer.concat(pieces) : await joinShared({ pieces, bytes });
  } finally {
    // What was refused, or broke off, would otherwise stay until the garbage collector comes.
    for (const piece of pieces) releaseBytes(piece);
  }
}

/** A reader that is done once the signal fires: the pending read then reports the body's end, and the client can be answered. */
export function readerUntil(signal: AbortSignal, body: ReadableStream<Uint8Array>) {
  signal.throwIfAborted();
  const reader = body.getReader();
  signal.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  return reader;
}

/** Returns how many bytes have come. */
async function collect(
  request: ReadableRequest,
  limit: BodyLimit,
  signal: AbortSignal,
  pieces: Uint8Array[],
): Promise<number> {
  if (request.body === null) return 0;
  const reader = readerUntil(signal, request.body);
  let bytes = 0;
  // Not by `for await`: it would wait for the rest of the body before it lets go of it.
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    bytes += next.value.length;
    if (bytes > limit.maxBytes) throw limit.tooLarge();
    limit.take(next.value.length);
    pieces.push(next.value);
  }
  signal.throwIfAborted();
  return bytes;
}
