import { newId } from "../base/id.ts";
import type { Store, StoredResponse } from "../store/store.ts";

type RecordedFor = Pick<StoredResponse, "keyId" | "route" | "idempotencyKey" | "bodyHash">;

/** Memory for one response. Longer ones are written ahead in parts of about this size. */
const partBytes = 256 * 1024;
/** A whole answer comes in one piece; writing more of it at once would hold up others. */
const mostPartBytes = 256 * 1024;
/** No more of it is written in the transaction of the charge, which others wait for. */
const maxEndBytes = 64 * 1024;
/** Longer than any real answer. Of longer ones it is only kept that they were answered, so that no retry pays again unawares. */
const mostBytes = 64 * 1024 * 1024;

/** Stored in place of an answer that is too long; the answers themselves are all successes. */
const tooLongStatus = 409;

export function wasTooLong({ status }: StoredResponse): boolean {
  return status === tooLongStatus;
}

/**
 * Keeps what was sent to the client, byte for byte, with bounded memory. The parts become a response only when
 * `finish` is part of a settle; until then they mean nothing, and a crash leaves nothing to replay.
 */
export class ResponseRecorder {
  readonly #store: Store;
  readonly #claim: RecordedFor;
  readonly #nowMs: () => number;
  readonly #recordingId = newId("rec_");
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #writtenBytes = 0;
  #parts = 0;
  /** Whether the parts so far are written. */
  #written: Promise<boolean> = Promise.resolve(true);
  #isOpen = true;
  #isTooLong = false;

  constructor(store: Store, claim: RecordedFor, nowMs: () => number) {
    this.#store = store;
    this.#claim = claim;
    this.#nowMs = nowMs;
  }

  /** The chunk is not copied, so it must not be changed afterwards. */
  append(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += mostPartBytes)
      this.#take(chunk.subarray(at, at + mostPartBytes));
  }

  #take(chunk: Uint8Array): void {
    if (!this.#isOpen) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#writtenBytes + this.#bytes > mostBytes) {
      this.discard();
      this.#isTooLong = true;
    } else if (this.#bytes >= partBytes) this.#writeAhead();
  }

  /** What the settle stores, once all before it is written; null for what was discarded. */
  async finish({
    status,
    headers,
  }: Pick<StoredResponse, "status" | "headers">): Promise<StoredResponse | null> {
    if (this.#isTooLong) return this.#response({ status: tooLongStatus, headers: {} });
    if (!this.#isOpen) return null;
    this.#isOpen = false;
    if (this.#bytes > maxEndBytes) this.#writeAhead();
    const response = this.#response({ status, headers });
    if (this.#parts === 0) return response;
    const isWhole = await this.#written;
    if (isWhole) return { ...response, recording: { id: this.#recordingId, parts: this.#parts } };
    this.#store.discardResponse(this.#recordingId).catch(() => {});
    return this.#response({ status: tooLongStatus, headers: {} });
  }

  #response({ status, headers }: Pick<StoredResponse, "status" | "headers">): StoredResponse {
    const { keyId, route, idempotencyKey, bodyHash } = this.#claim;
    return {
      keyId,
      route,
      idempotencyKey,
      bodyHash,
      status,
      headers,
      body: this.#takeChunks(),
      storedAtMs: this.#nowMs(),
    };
  }

  /** The response will not be stored. */
  discard(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#chunks = [];
    if (this.#parts > 0) this.#store.discardResponse(this.#recordingId).catch(() => {});
  }

  #writeAhead(): void {
    const part = { recordingId: this.#recordingId, sequence: this.#parts, body: this.#takeChunks() };
    this.#parts += 1;
    const writing = this.#store.recordResponsePart(part).then(
      () => true,
      () => false,
    );
    this.#written = Promise.all([this.#written, writing]).then((parts) =>
      parts.every((isWritten) => isWritten),
    );
  }

  #takeChunks(): Uint8Array {
    const body = Buffer.concat(this.#chunks);
    this.#writtenBytes += this.#bytes;
    this.#chunks = [];
    this.#bytes = 0;
    return body;
  }
}
