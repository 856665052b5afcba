import { markerByte } from "./payloads.ts";

/** Enough of RFC 6455 for a load: text frames of up to 64 KB, none of them fragmented. */

const fin = 0x80;
const text = 1;
const masked = 0x80;
const inTwoBytes = 126;

const mask = [0x5a, 0xc3, 0x17, 0x88];

/** A client's text frame. */
export function clientFrame(payload: Buffer): Buffer {
  const head = Buffer.from([fin | text, masked | inTwoBytes, 0, 0, ...mask]);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload.map((byte, index) => byte ^ (mask[index % mask.length] ?? 0))]);
}

const error = '{"type":"error"';
const ends = ['{"type":"response.completed"', error];

/** What a part of an answer has in it. */
export interface FramesRead {
  /** Content events. Their mark may occur in the lengths of frames too. */
  readonly events: number;
  readonly hasEnded: boolean;
  readonly failure: string | null;
}

export class FrameReader {
  #rest: Buffer | null = null;

  read(bytes: Buffer): FramesRead {
    const held = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
    let events = 0;
    let end: string | null = null;
    let at = 0;
    for (;;) {
      const isLong = held[at + 1] === inTwoBytes;
      const start = at + (isLong ? 4 : 2);
      if (start > held.length) break;
      const next = start + (isLong ? held.readUInt16BE(at + 2) : (held[at + 1] ?? 0));
      if (next > held.length) break;
      const mark = held.indexOf(markerByte, start);
      if (mark !== -1 && mark < next) events += 1;
      else if (ends.some((type) => held.toString("latin1", start, start + type.length) === type)) {
        end = held.toString("utf8", start, next);
      }
      at = next;
    }
    this.#rest = at === held.length ? null : held.subarray(at);
    return { events, hasEnded: end !== null, failure: end?.startsWith(error) ? end : null };
  }
}
