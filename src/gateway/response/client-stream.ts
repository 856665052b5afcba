import { clientDialect } from "../../dialects/registry.ts";
import type { ClientCall, DirectController, Piece, StreamSource } from "../exchange/client-call.ts";

/** The client's side of a stream: what is written to it, and since when it does not read. */
export class ClientStream {
  readonly #monotonicMs: () => number;
  #controller: DirectController | null = null;
  /** Infinite while the client reads. */
  #blockedSinceMs = Number.POSITIVE_INFINITY;
  #hasWrittenPiece = false;
  #hasWritten = false;
  /** When a piece of the response was written, as of the last `noteWrites`. */
  lastPieceMs: number;
  /** When a piece or a heartbeat was written, as of the last `noteWrites`. */
  lastWriteMs: number;
  /** No less than a byte for each character. */
  writtenBytes = 0;
  #longestGapMs = 0;
  #notedMs: number;
  /** No later than the last piece was written. */
  #pieceSinceMs: number;
  /** Ends the wait of the last write. */
  #stopWaiting: (() => void) | null = null;
  #isGivenUp = false;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.lastPieceMs = this.lastWriteMs = this.#notedMs = this.#pieceSinceMs = monotonicMs();
  }

  open(controller: DirectController): void {
    this.#controller = controller;
  }

  close(): void {
    const controller = this.#controller;
    this.#controller = null;
    controller?.end();
  }

  /** As `close`, without the end of the body. */
  abandon(): void {
    this.#controller = null;
  }

  get isOpen(): boolean {
    return this.#controller !== null;
  }

  /** Writes a piece of the response. Undefined if it was sent at once. */
  send(piece: Piece): Promise<void> | undefined {
    this.#hasWrittenPiece = true;
    return this.#write(piece);
  }

  sendHeartbeat(heartbeat: string): Promise<void> | undefined {
    return this.#write(heartbeat);
  }

  #write(piece: Piece): Promise<void> | undefined {
    const written = this.#controller?.write(piece);
    this.writtenBytes += piece.length;
    this.#hasWritten = true;
    if (!(written instanceof Promise)) return undefined;
    // A heartbeat may be waiting already: the client has not read since then.
    this.#blockedSinceMs = Math.min(this.#blockedSinceMs, this.#monotonicMs());
    return this.#untilRead(written);
  }

  /** From now on writes do not wait for the client. Written bytes still reach a client that reads. */
  giveUpWaiting(): void {
    this.#isGivenUp = true;
    this.#stopWaiting?.();
  }

  /** One resolver is enough: while a write waits, only a heartbeat can wait too, and heartbeats are not awaited. */
  #untilRead(written: Promise<number>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#stopWaiting = resolve;
    if (this.#isGivenUp) resolve();
    written.then(() => {
      this.#blockedSinceMs = Number.POSITIVE_INFINITY;
      resolve();
    }, reject);
    return promise;
  }

  /** Call this periodically. Reading the clock on each write would cost as much as the write. */
  noteWrites(nowMs: number): void {
    if (this.#hasWrittenPiece) {
      this.#longestGapMs = this.longestGapUntil(nowMs);
      this.#pieceSinceMs = this.#notedMs;
      this.lastPieceMs = nowMs;
    }
    this.#notedMs = nowMs;
    if (this.#hasWritten) this.lastWriteMs = nowMs;
    this.#hasWrittenPiece = this.#hasWritten = false;
  }

  /** An upper bound of the longest time without a piece so far: a piece was written between two calls of `noteWrites`. */
  longestGapUntil(nowMs: number): number {
    return Math.max(this.#longestGapMs, nowMs - this.#pieceSinceMs);
  }

  isBlocked(nowMs: number): boolean {
    return this.#blockedSinceMs <= nowMs;
  }

  isBlockedLongerThan(limitMs: number, nowMs: number): boolean {
    return nowMs - this.#blockedSinceMs > limitMs;
  }
}

/** So few bytes soon are in the system's buffers, however slowly the client reads. */
const soonSentBytes = 16 * 1024;

/** Clients drop what they have not read when their connection is closed, and the error would be lost. */
const readingMs = 500;

/**
 * Closes the client's connection before the end of the body, of which so many bytes were written. Otherwise the client would take
 * the bytes for a complete response.
 */
export async function cutOff(call: ClientCall, writtenBytes: number): Promise<void> {
  const { signal } = call.request;
  if (writtenBytes <= soonSentBytes) {
    await Bun.sleep(readingMs);
    // Bun closes the connection of a stream that throws, and loses what it has not sent.
    if (!signal.aborted) throw new DOMException("The response ends with its error.", "AbortError");
    return;
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  call.disconnect();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}

/** Whether a stream of the call's dialect breaks off after an error. */
export function breaksOffAfterError({ route: { dialect } }: ClientCall): boolean {
  return dialect !== null && clientDialect(dialect).breaksOffAfterError === true;
}

/** A response written by `written`. A WebSocket takes the source directly, and has no use for the head. */
export function sourceResponse(
  written: StreamSource,
  { takeStream, reframe }: ClientCall,
  init: () => ResponseInit,
): Response {
  if (takeStream !== undefined) {
    takeStream(written);
    return new Response(null);
  }
  const { source, head } = reframe?.({ source: written, head: init() }) ?? { source: written, head: init() };
  const body = new ReadableStream({
    type: "direct",
    pull: (controller) => source.pull(controller),
    cancel: () => source.cancel(),
  });
  return new Response(body, head);
}
