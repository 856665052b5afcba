import { assert } from "../../base/assert.ts";
import { sharedBytes } from "../../base/shared-bytes.ts";
import { largeBodyBytes } from "../large/is-large.ts";

/** The limits for one body. */
export interface BodyLimit {
  readonly maxBytes: number;
  tooLarge(): Error;
  /** Reserves memory for more bytes. Throws when there is none. */
  take(bytes: number): void;
}

/**
 * The request's bytes, refused as soon as they are known to be too many: by the length the client announced, or,
 * where it announced none, while they come in. Until they are read here, they wait in the client's connection.
 *
 * Large ones are read piece by piece, into shared memory: room is taken for what has really come, not for what a
 * client has announced, and other threads can look at the bytes without a copy of their own.
 */
export function readBody(request: Request, limit: BodyLimit): Promise<Uint8Array> {
  const announced = request.headers.get("content-length");
  if (announced === null) return readUnannounced(request, limit);
  const length = Number(announced);
  if (length > limit.maxBytes) throw limit.tooLarge();
  if (length >= largeBodyBytes) return readLarge(request, length, limit);
  limit.take(length);
  return request.bytes();
}

/** As much of a stream's reader as is needed. */
interface Pieces {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
}

async function readLarge(request: Request, length: number, limit: BodyLimit): Promise<Uint8Array> {
  assert(request.body !== null, "a request that announced a body has none");
  return fill(request.body.getReader(), sharedBytes(length), 0, limit);
}

/** Small ones are put together at their end; memory for the largest is only set aside once one has grown large. */
async function readUnannounced(request: Request, limit: BodyLimit): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  // Not by `for await`: it would wait for the rest of the body before it lets go of it.
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > limit.maxBytes) throw limit.tooLarge();
    limit.take(next.value.length);
    pieces.push(next.value);
    if (size >= largeBodyBytes) {
      const bytes = sharedBytes(limit.maxBytes);
      bytes.set(Buffer.concat(pieces));
      return fill(reader, bytes, size, limit);
    }
  }
  return Buffer.concat(pieces);
}

const nothing = new Uint8Array(0);

/** Reads the rest of a body behind what is there. The server keeps a body to the length that it announced. */
async function fill(reader: Pieces, bytes: Uint8Array, from: number, limit: BodyLimit): Promise<Uint8Array> {
  let size = from;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const piece = next.value ?? nothing;
    if (size + piece.length > bytes.length) throw limit.tooLarge();
    limit.take(piece.length);
    bytes.set(piece, size);
    size += piece.length;
  }
  return bytes.subarray(0, size);
}
