import { newId } from "../base/id.ts";
import type { Store, StoredResponse } from "../store/store.ts";
import type { KeptBytes } from "./kept-bytes.ts";

type RecordedFor = Pick<StoredResponse, "keyId" | "route" | "idempotencyKey" | "bodyHash">;

/** Memory for one response. Longer ones are written ahead in parts of about this size. */
const partBytes = 256 * 1024;
/** A whole answer comes in one piece; writing more of it at once would hold up others. */
const mostPartBytes = 256 * 1024;
/** No more of it is written in the transaction of the charge, which others wait for. */
const maxEndBytes = 64 * 1024;
/** Longer than any real answer. Of longer ones it is only kept that they were answered, so that no retry pays again unawares. */
const mostBytes = 64 * 1024 * 1024;

/** Stored in place of a response that is not kept; the responses themselves are all successes. */
const notKeptStatus = 409;

export function wasNotKept({ status }: StoredResponse): boolean {
  return status === notKeptStatus;
}

interface RecordingTerms {
  readonly store: Store;
  readonly kept: KeptBytes;
  /** What the key may keep in all. */
  readonly maxBytes: number;
  nowMs(): number;
}

/**
 * Keeps what was sent to the client, byte for byte, with bounded memory. The parts become a response only when
 * `finish` is part of a settle; until then they mean nothing, and a crash leaves nothing to replay.
 */
export class ResponseRecorder {
  readonly #options: RecordingTerms;
  readonly #store: Store;
  readonly #claim: RecordedFor;
  readonly #recordingId = newId("rec_");
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #writtenBytes = 0;
  #parts = 0;
  /** Whether the parts so far are written. */
  #written: Promise<boolean> = Promise.resolve(true);
  #isOpen = true;
  #isKept = true;

  constructor(options: RecordingTerms, claim: RecordedFor) {
    this.#options = options;
    this.#store = options.store;
    this.#claim = claim;
  }

  /** False if the response is too long, or the key has no room for it. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The chunk is not copied, so it must not be changed afterwards. */
  append(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += mostPartBytes)
      this.#take(chunk.subarray(at, at + mostPartBytes));
  }

  #take(chunk: Uint8Array): void {
    if (!this.#isOpen) return;
    const { kept, maxBytes } = this.#options;
    const isShort = this.#takenBytes + chunk.length <= mostBytes;
    if (!isShort || !kept.take(this.#claim.keyId, chunk.length, maxBytes)) {
      this.discard();
      this.#isKept = false;
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= partBytes) this.#writeAhead();
  }

  /** What the settle stores, once all before it is written; null for what was discarded. */
  async finish({
    status,
    headers,
  }: Pick<StoredResponse, "status" | "headers">): Promise<StoredResponse | null> {
    if (!this.#isKept) return this.#response({ status: notKeptStatus, headers: {} });
    if (!this.#isOpen) return null;
    this.#isOpen = false;
    if (this.#bytes > maxEndBytes) this.#writeAhead();
    const bytes = this.#writtenBytes;
    const response = this.#response({ status, headers });
    this.#isKept = await this.#written;
    this.#giveBack(this.#isKept);
    if (this.#parts === 0) return response;
    if (this.#isKept) return { ...response, recording: { id: this.#recordingId, parts: this.#parts, bytes } };
    this.#store.discardResponse(this.#recordingId).catch(() => {});
    return this.#response({ status: notKeptStatus, headers: {} });
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
      storedAtMs: this.#options.nowMs(),
    };
  }

  /** The response will not be stored. */
  discard(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#giveBack(false);
    this.#chunks = [];
    if (this.#parts > 0) this.#store.discardResponse(this.#recordingId).catch(() => {});
  }

  get #takenBytes(): number {
    return this.#writtenBytes + this.#bytes;
  }

  #giveBack(isStored: boolean): void {
    this.#options.kept.end(this.#claim.keyId, this.#takenBytes, isStored);
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
