import { GatewayError } from "../base/errors.ts";
import { isObject, type Json, tryParse } from "../base/json.ts";
import { SseDecoder, type SseFrame } from "../dialects/sse/sse.ts";
import type { BodyForm } from "./document.ts";
import { joinerOf, type StreamJoiner } from "./join/stream-joiner.ts";

/** Events are decoded in batches of this size. */
const maxWaitingBytes = 256 * 1024;

/**
 * Maximum size of the stream data that is joined: a multiple of the recorded maximum, because joining shortens it, but
 * at least this much.
 */
const maxJoinedShare = 4;
const minJoinedBytes = 4_000_000;

/** A collected body. */
export type CollectedBody =
  | { readonly kind: "json"; readonly part: Buffer; readonly isValid: boolean }
  | { readonly kind: "value"; readonly value: Json; readonly skippedBytes: number }
  | ({ readonly kind: "written" } & WrittenBody);

/** JSON text, or the part of the log that contains it unchanged, and the number of bytes cut. */
export interface WrittenBody {
  readonly json: string | Buffer;
  readonly cut: number;
}

export interface BodyCollector {
  add(part: Buffer): void;
  /** Null if the body is empty. */
  end(): CollectedBody | null;
  /** Copies the needed parts of the log, whose memory is about to be reused. */
  retain(): void;
  /** Approximate memory use. */
  readonly heldBytes: number;
}

/** `max`: the maximum size of the body in the document, in bytes. */
export function collectorOf(form: BodyForm, max: number): BodyCollector {
  if (form.kind === "events") return new EventCollector(joinerOf(form.format), max);
  return form.kind === "bytes" ? new DigestCollector(form.type) : new JsonCollector(form.isValid);
}

export class JsonCollector implements BodyCollector {
  #parts: Buffer[] = [];
  /** Number of parts that are copies or in shared memory. */
  #retained = 0;
  #written: WrittenBody | null = null;
  readonly #isValid: boolean;
  heldBytes = 0;

  constructor(isValid: boolean) {
    this.#isValid = isValid;
  }

  add(part: Buffer): void {
    this.#parts.push(part);
    this.heldBytes += part.length;
  }

  /** The body is complete. Writes it now, so that a large one is not held until the request ends. */
  finish(write: (body: CollectedBody) => WrittenBody): void {
    const body = this.end();
    if (body === null) return;
    this.#written = write(body);
    this.#parts = [];
    this.#retained = 0;
    this.heldBytes = this.#written.json.length;
  }

  end(): CollectedBody | null {
    if (this.#written !== null) return { kind: "written", ...this.#written };
    const [first, ...others] = this.#parts;
    if (first === undefined) return null;
    const part = others.length === 0 ? first : Buffer.concat(this.#parts);
    return { kind: "json", part, isValid: this.#isValid };
  }

  retain(): void {
    if (this.#retained === this.#parts.length) return;
    this.#parts = this.#parts.map((part, place) =>
      place < this.#retained || part.buffer instanceof SharedArrayBuffer ? part : Buffer.from(part),
    );
    this.#retained = this.#parts.length;
  }
}

/** Joins events as they arrive, so that a long stream takes only the memory of its text. */
class EventCollector implements BodyCollector {
  #decoder = new SseDecoder();
  readonly #joiner: StreamJoiner;
  readonly #maxTextBytes: number;
  #isBroken = false;
  #skippedBytes = 0;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #textBytes = 0;

  constructor(joiner: StreamJoiner, max: number) {
    this.#joiner = joiner;
    this.#maxTextBytes = Math.max(max * maxJoinedShare, minJoinedBytes);
  }

  get heldBytes(): number {
    return this.#textBytes + this.#decoder.pendingBytes;
  }

  /** Pieces of one log are decoded together. */
  add(part: Buffer): void {
    this.#waiting.push(part);
    this.#waitingBytes += part.length;
    if (this.#waitingBytes >= maxWaitingBytes) this.retain();
  }

  retain(): void {
    if (this.#waitingBytes === 0) return;
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    // The rest would be cut anyway, and one long stream must not fill the queue.
    if (this.#textBytes > this.#maxTextBytes) this.#break();
    if (this.#isBroken) this.#skippedBytes += bytes.length;
    else this.#read(() => this.#decoder.push(bytes));
  }

  end(): CollectedBody | null {
    this.retain();
    if (!this.#isBroken) this.#read(() => this.#decoder.end());
    const value = this.#joiner.joined();
    return value === null ? null : { kind: "value", value, skippedBytes: this.#skippedBytes };
  }

  /** Nothing is recorded after an event that is too large. */
  #read(frames: () => readonly SseFrame[]): void {
    try {
      for (const frame of frames()) this.#take(frame);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#break();
    }
  }

  #break(): void {
    this.#isBroken = true;
    this.#decoder = new SseDecoder();
  }

  #take({ data, event: name }: SseFrame): void {
    const event = tryParse(data);
    // An estimate: about a quarter of an event is text.
    this.#textBytes += data.length >> 2;
    if (isObject(event)) this.#joiner.add(event, name);
  }
}

class DigestCollector implements BodyCollector {
  readonly #hasher = new Bun.CryptoHasher("sha256");
  readonly #type: string;
  #bytes = 0;
  readonly heldBytes = 0;

  constructor(type: string) {
    this.#type = type;
  }

  add(part: Buffer): void {
    this.#hasher.update(part);
    this.#bytes += part.length;
  }

  retain(): void {}

  end(): CollectedBody | null {
    if (this.#bytes === 0) return null;
    const value = { type: this.#type, bytes: this.#bytes, sha256: this.#hasher.digest("hex") };
    return { kind: "value", value, skippedBytes: 0 };
  }
}
