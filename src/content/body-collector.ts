import { isObject, type Json, tryParse } from "../base/json.ts";
import { maxEventBytes, wholeEventsEnd } from "../dialects/sse/frame-joiner.ts";
import { SseDecoder, type SseFrame } from "../dialects/sse/sse.ts";
import type { BodyForm } from "./document.ts";
import type { Part } from "./frame-log.ts";
import { RepeatedEvent } from "./join/repeated-event.ts";
import { joinerOf, type StreamJoiner } from "./join/stream-joiner.ts";

/** Of a stream that is read at once. */
const maxWaitingBytes = 256 * 1024;

/** So many times the maximum is joined, because data in it becomes shorter, and this much at least. */
const maxJoinedShare = 4;
const minJoinedBytes = 4_000_000;

/** What has come of one body so far. */
export type CollectedBody =
  | { readonly kind: "json"; readonly part: Part; readonly isValid: boolean }
  | { readonly kind: "value"; readonly value: Json; readonly skippedBytes: number }
  | ({ readonly kind: "written" } & WrittenBody);

/** JSON text, or the part of the log that has it as it came, and how many bytes were cut. */
export interface WrittenBody {
  readonly json: string | Part;
  readonly cut: number;
}

export interface BodyCollector {
  add(part: Part): void;
  /** Null if nothing has come. */
  end(): CollectedBody | null;
  /** The log is worked off: what is still needed of it is copied. */
  retain(): void;
  /** The memory that it takes, roughly. */
  readonly heldBytes: number;
}

/** `max` is what is kept of the body. */
export function collectorOf(form: BodyForm, max: number): BodyCollector {
  if (form.kind === "events") return new EventCollector(joinerOf(form.format), max);
  return form.kind === "bytes" ? new DigestCollector(form.type) : new JsonCollector(form.isValid);
}

export class JsonCollector implements BodyCollector {
  #parts: Part[] = [];
  /** How many of them are copies, or in shared memory. */
  #retained = 0;
  #written: WrittenBody | null = null;
  readonly #isValid: boolean;
  heldBytes = 0;

  constructor(isValid: boolean) {
    this.#isValid = isValid;
  }

  add(part: Part): void {
    this.#parts.push(part);
    this.heldBytes += part.end - part.start;
  }

  /** All of it has come: it is written now, so that a large one does not wait for the end of its request. */
  finish(write: (body: CollectedBody) => WrittenBody): void {
    const body = this.end();
    if (body === null) return;
    this.#written = write(body);
    this.#parts = [];
    this.#retained = 0;
    const { json } = this.#written;
    this.heldBytes = typeof json === "string" ? json.length : json.end - json.start;
  }

  end(): CollectedBody | null {
    if (this.#written !== null) return { kind: "written", ...this.#written };
    const [first, ...others] = this.#parts;
    if (first === undefined) return null;
    const part = others.length === 0 ? first : joined(this.#parts);
    return { kind: "json", part, isValid: this.#isValid };
  }

  retain(): void {
    if (this.#retained === this.#parts.length) return;
    this.#parts = this.#parts.map((part, place) =>
      place < this.#retained || part.source.buffer instanceof SharedArrayBuffer ? part : joined([part]),
    );
    this.#retained = this.#parts.length;
  }
}

function joined(parts: readonly Part[]): Part {
  let length = 0;
  for (const { start, end } of parts) length += end - start;
  const source = Buffer.allocUnsafeSlow(length);
  copyParts(parts, source, 0);
  return { source, start: 0, end: length };
}

/** Copied part by part: to make a view of each first takes longer. */
function copyParts(parts: readonly Part[], target: Buffer, from: number): void {
  let at = from;
  for (const part of parts) at += part.source.copy(target, at, part.start, part.end);
}

/** Events that are being read. One after the other, so that the same memory serves all streams. */
let scratch = Buffer.allocUnsafeSlow(0);

function scratchOf(length: number): Buffer {
  if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(Math.max(length, maxWaitingBytes * 2));
  return scratch.subarray(0, length);
}

const nothing = Buffer.alloc(0);

/** Events are joined as they come, so that a long stream takes the memory of its text alone. */
class EventCollector implements BodyCollector {
  readonly #decoder = new SseDecoder();
  readonly #joiner: StreamJoiner;
  readonly #maxTextBytes: number;
  #isBroken = false;
  #skippedBytes = 0;
  #waiting: Part[] = [];
  #waitingBytes = 0;
  /** The start of an event whose end has not come. */
  #rest = nothing;
  /** Most events of a stream repeat the one before but for their text. */
  #repeat: RepeatedEvent | null = null;
  #textBytes = 0;

  constructor(joiner: StreamJoiner, max: number) {
    this.#joiner = joiner;
    this.#maxTextBytes = Math.max(max * maxJoinedShare, minJoinedBytes);
  }

  get heldBytes(): number {
    return this.#textBytes + this.#rest.length;
  }

  /** Pieces of one log are read together. */
  add(part: Part): void {
    this.#waiting.push(part);
    this.#waitingBytes += part.end - part.start;
    if (this.#waitingBytes >= maxWaitingBytes) this.retain();
  }

  retain(): void {
    if (this.#waitingBytes === 0) return;
    const bytes = scratchOf(this.#rest.length + this.#waitingBytes);
    bytes.set(this.#rest);
    copyParts(this.#waiting, bytes, this.#rest.length);
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#textBytes > this.#maxTextBytes) {
      // The rest would be cut in any case, and one long stream must not take the room of all others.
      this.#isBroken = true;
      this.#skippedBytes += bytes.length;
    }
    const end = this.#isBroken ? bytes.length : wholeEventsEnd(bytes);
    // An event that is too large is the last that is recorded.
    if (bytes.length - end > maxEventBytes) this.#isBroken = true;
    this.#rest = this.#isBroken ? nothing : Buffer.from(bytes.subarray(end));
    if (!this.#isBroken && end > 0) this.#read(bytes.subarray(0, end));
  }

  end(): CollectedBody | null {
    this.retain();
    if (this.#rest.length > 0) this.#read(this.#rest);
    if (!this.#isBroken) for (const frame of this.#decoder.end()) this.#take(frame);
    const value = this.#joiner.joined();
    return value === null ? null : { kind: "value", value, skippedBytes: this.#skippedBytes };
  }

  #read(events: Uint8Array): void {
    this.#decoder.feed(events);
    for (let frame = this.#next(); frame !== null; frame = this.#next()) this.#take(frame);
  }

  /** The next event that is not like the one before. */
  #next(): SseFrame | null {
    const repeat = this.#repeat;
    if (repeat !== null) {
      this.#decoder.rewrite(repeat);
      this.#textBytes += repeat.appendedChars;
      repeat.appendedChars = 0;
    }
    return this.#decoder.next();
  }

  #take(frame: SseFrame): void {
    const { data, event: name } = frame;
    const event = tryParse(data);
    // About a third of an event is text that is kept.
    this.#textBytes += data.length >> 2;
    if (!isObject(event)) return;
    this.#joiner.add(event, name);
    const { appended } = this.#joiner;
    this.#repeat = appended === null ? null : RepeatedEvent.of(frame, appended);
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

  add({ source, start, end }: Part): void {
    this.#hasher.update(source.subarray(start, end));
    this.#bytes += end - start;
  }

  retain(): void {}

  end(): CollectedBody | null {
    if (this.#bytes === 0) return null;
    const value = { type: this.#type, bytes: this.#bytes, sha256: this.#hasher.digest("hex") };
    return { kind: "value", value, skippedBytes: 0 };
  }
}
