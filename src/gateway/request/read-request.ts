import { lengthOf, releaseBytes } from "../../base/bytes.ts";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { truncateBody } from "../../dialects/json/parse-body.ts";
import { removeValues, type ValuePath } from "../../dialects/json/remove-values.ts";
import { pathReader, type RequestKind } from "../../dialects/request-kinds.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import { hasManyValues, joinPieces, joinShared, largeBodyBytes } from "../body-worker/large-body.ts";
import { paceRequest } from "../body-worker/request-pacer.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { type ClientCall, type ReadableRequest, urlOf } from "../exchange/client-call.ts";
import { beginContent } from "../exchange/content.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { rejectReferences } from "../references/provider-id-owners.ts";
import {
  checkBody,
  type ExpectedRequest,
  expectedOf,
  largeRequest,
  readJob,
  withPath,
} from "./check-body.ts";
import type { ClientRequest } from "./client-request.ts";
import type { RoutedCall } from "./route.ts";

/** Reads and validates a request. */
export async function readRequest(admitted: AdmittedCall, kind: RequestKind): Promise<ClientRequest> {
  using reading = new BodyReading(admitted, kind);
  return await reading.read();
}

/** A body while it is read and validated. Its memory counts against the budget meanwhile. */
export class BodyReading implements BodyLimit, Disposable {
  readonly maxBytes: number;
  readonly #admitted: AdmittedCall;
  readonly #expected: ExpectedRequest;
  readonly #reservation: BodyReservation;
  #taken = 0;

  constructor(admitted: AdmittedCall, kind: RequestKind) {
    const { gateway, exchange, key } = admitted;
    const { server } = exchange.configured.settings;
    this.maxBytes = server.maxBodyBytes;
    this.#admitted = admitted;
    this.#expected = expectedOf(exchange.call, kind, server);
    this.#reservation = gateway.bodies.reserve(key.id);
  }

  async read(): Promise<ClientRequest> {
    const bytes = await this.#receive();
    const recorder = this.#admitted.gateway.content;
    if (recorder !== null) beginContent(recorder, this.#admitted, bytes);
    const request = await this.#parse(bytes, { ...this.#expected, path: this.#modelPath() });
    // A secret of the playground only sends requests: what its key has stored stays the key's own.
    if (this.#admitted.exchange.taken.playground !== null) rejectReferences(request.mentions.references);
    return request;
  }

  /** Null if the body names the model. */
  #modelPath(): string | null {
    const readsPath = pathReader(this.#expected.kind) !== null;
    return readsPath ? urlOf(this.#admitted.exchange.call).pathname : null;
  }

  /** The request with a body of these pieces, because of what it continues. Throws if it is too large. */
  async rebuilt(
    sent: ClientRequest,
    pieces: readonly Uint8Array[],
    kind: RequestKind,
  ): Promise<ClientRequest> {
    this.#takeWhole(lengthOf(pieces));
    const rebuilt = await this.#parse(await joinPieces(pieces), { ...this.#expected, kind });
    return wantsHash(this.#admitted.exchange.call) ? rebuilt.sentAs(sent) : rebuilt;
  }

  async #receive(): Promise<Uint8Array> {
    const { gateway, exchange } = this.#admitted;
    const { body, request } = exchange.call;
    if (body === undefined)
      return gateway.ongoing.untilInterrupted(exchange, readBody(request, this, exchange));
    this.#takeWhole(body.length);
    return body;
  }

  async #parse(bytes: Uint8Array, expected: ExpectedRequest): Promise<ClientRequest> {
    this.#admitted.exchange.rememberBody(bytes);
    return checkRead(this.#admitted, bytes, expected);
  }

  tooLarge(): Error {
    return invalidRequest(`The request body is too large: the maximum is ${this.maxBytes} bytes.`);
  }

  /** Reserves memory for a body that has grown, in addition to what is already reserved. */
  #takeWhole(bytes: number): void {
    if (bytes > this.maxBytes) throw this.tooLarge();
    this.take(Math.max(0, bytes - this.#taken));
  }

  take(bytes: number): void {
    if (!this.#reservation.grow(bytes)) throw noMemory();
    this.#taken += bytes;
  }

  [Symbol.dispose](): void {
    this.#reservation.release();
  }
}

/** Checks a body, on another thread if it takes long. A shutdown waits for that like for any other work. */
export async function checkRead(
  admitted: AdmittedCall,
  sent: Uint8Array,
  expected: ExpectedRequest,
): Promise<ClientRequest> {
  if (sent.length < largeBodyBytes) {
    await paceRequest(sent);
    const bytes = withPath(sent, expected);
    const scanned = truncateBody(bytes);
    if (!hasManyValues(bytes, scanned)) return checkBody(bytes, expected, scanned);
  }
  const { gateway, exchange } = admitted;
  const input = { bytes: sent, expected, wantsHash: wantsHash(exchange.call), without: [] };
  const run = () => gateway.largeBodies.runRequest(readJob, input, admitted);
  return largeRequest(await gateway.ongoing.withoutSlot(exchange, run), expected.kind);
}

/** Only idempotency compares requests by their hash. */
function wantsHash({ request }: ClientCall): boolean {
  return request.headers.has("idempotency-key");
}

/** The request without these values; all other bytes are the client's. */
export async function withoutValues(
  routed: RoutedCall,
  without: readonly ValuePath[],
): Promise<ClientRequest> {
  const { gateway, exchange, dialect, request } = routed;
  if (without.length === 0) return request;
  const { bytes, isLarge } = request;
  const expected = expectedOf(exchange.call, dialect, exchange.configured.settings.server);
  if (!isLarge) return checkBody(removeValues(bytes, without), expected);
  const input = { bytes, expected, wantsHash: false, without };
  const read = await gateway.largeBodies.runRequest(readJob, input, routed);
  return largeRequest(read, expected.kind);
}

/** The request with another body, which follows from its own. */
export function withBody(exchange: Exchange, body: JsonObject, kind: RequestKind): ClientRequest {
  const bytes = Buffer.from(JSON.stringify(body));
  const expected = expectedOf(exchange.call, kind, exchange.configured.settings.server);
  return checkBody(bytes, expected);
}

export function noMemory(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway has no memory left for another large request. Retry in a few seconds.",
  );
}

/** The limits for one body. */
export interface BodyLimit {
  readonly maxBytes: number;
  tooLarge(): Error;
  /** Reserves memory for more bytes. Throws when there is none. */
  take(bytes: number): void;
}

/** An exchange whose signal is created only on first use. */
type Ending = Pick<AbortController, "signal">;

/**
 * The request's bytes, rejected as soon as they are known to be too many: by the length the client announced or, if it
 * announced none, while they arrive. Until they are read here, they wait in the client's connection.
 *
 * Large bodies are read piece by piece: memory is reserved for the bytes that have arrived, not for the announced length.
 * They end up in shared memory, where other threads can read them without a copy. Reading stops once the exchange has ended.
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

/**
 * Gives the pieces of a body to `take`, one after the other. It stops once the signal fires, and the client can get a response: the
 * pending read then reports the body's end.
 */
export async function takePieces(
  { body }: Pick<ReadableRequest, "body">,
  signal: AbortSignal,
  take: (piece: Uint8Array) => void | Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  if (body === null) return;
  const reader = body.getReader();
  signal.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  // Not by `for await`: it would wait for the rest of the body before it lets go of it.
  for (let next = await reader.read(); !next.done; next = await reader.read()) await take(next.value);
  signal.throwIfAborted();
}

/** Returns the number of bytes received. */
async function collect(
  request: ReadableRequest,
  limit: BodyLimit,
  signal: AbortSignal,
  pieces: Uint8Array[],
): Promise<number> {
  let bytes = 0;
  await takePieces(request, signal, (piece) => {
    bytes += piece.length;
    if (bytes > limit.maxBytes) throw limit.tooLarge();
    limit.take(piece.length);
    pieces.push(piece);
  });
  return bytes;
}
