import { newId } from "../base/id.ts";
import type { Store, StoredResponse } from "../store/store.ts";
import type { StoredBytes } from "./stored-bytes.ts";

type RecordedFor = Pick<StoredResponse, "keyId" | "route" | "idempotencyKey" | "bodyHash">;

/** Memory per response. Longer responses are written ahead in parts of about this size. */
const partBytes = 256 * 1024;
/** A non-streaming response arrives in one piece; writing more of it at once would delay other writes. */
const maxPartBytes = 256 * 1024;
/** Limits what the transaction of the charge has to write, because other charges wait for it. */
const maxEndBytes = 64 * 1024;
/**
 * Longer than any real response. Beyond it, Sluice stores only that there was a response, so that a retry cannot pay
 * twice unnoticed.
 */
const maxResponseBytes = 64 * 1024 * 1024;

/** The stored status of a response that was not kept. Stored responses are all successes, so it cannot collide. */
const notKeptStatus = 409;

export function wasNotKept({ status }: StoredResponse): boolean {
  return status === notKeptStatus;
}

interface RecordingTerms {
  readonly store: Store;
  readonly kept: Pick<StoredBytes, "take" | "end">;
  /** The key's whole storage allowance. */
  readonly maxBytes: number;
  nowMs(): number;
}

/**
 * Records what was sent to the client, byte for byte, with bounded memory. The parts become a response only when a
 * settle includes the result of `finish`. Until then a crash leaves nothing to replay.
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

  /** False if the response is too long or exceeds the key's allowance. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** The chunk is not copied, so it must not be changed afterwards. */
  append(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; at += maxPartBytes) this.#take(chunk.subarray(at, at + maxPartBytes));
  }

  #take(chunk: Uint8Array): void {
    if (!this.#isOpen) return;
    const { kept, maxBytes } = this.#options;
    const isShort = this.#takenBytes + chunk.length <= maxResponseBytes;
    if (!isShort || !kept.take(this.#claim.keyId, chunk.length, maxBytes)) {
      this.discard();
      this.#isKept = false;
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= partBytes) this.#writeAhead();
  }

  /** What the settle stores, once all parts are written. Null if it was discarded. */
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
