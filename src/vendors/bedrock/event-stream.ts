import { hash } from "bun";
import { asBuffer } from "../../base/bytes.ts";
import { WireError } from "../../wire/transfer.ts";

/**
 * Amazon's binary framing of streams, `application/vnd.amazon.eventstream`:
 *
 *     message := total:u32 headersLength:u32 preludeCrc:u32 headers payload messageCrc:u32
 *     header  := nameLength:u8 name type:u8 value
 *
 * Numbers are big-endian, checksums CRC-32. The message's checksum covers everything before it.
 */

/**
 * The position of a message in `bytes`, which must not be kept. Its headers, for `readHeaders`, end where its payload
 * starts.
 */
export type TakeMessage = (
  bytes: Uint8Array,
  headersStart: number,
  payloadStart: number,
  payloadEnd: number,
) => void;

const preludeBytes = 12;
const checksumBytes = 4;
const minBytes = preludeBytes + checksumBytes;
const maxHeaderBytes = 128 * 1024;
/** As for server-sent events. Amazon would allow twice as much, but a message is in memory several times at once. */
const maxPayloadBytes = 8 * 1024 * 1024;
const maxBytes = maxPayloadBytes + maxHeaderBytes + minBytes;

/** Splits the incoming bytes into messages. */
export class EventStreamDecoder {
  readonly #take: TakeMessage;
  /** The received part of a message, and how many bytes are needed next: its prelude or the whole message. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #neededBytes = 0;

  constructor(take: TakeMessage) {
    this.#take = take;
  }

  /** True between two messages: a stream may end here. */
  get isBetweenMessages(): boolean {
    return this.#begunBytes === 0;
  }

  /** Throws if the bytes are not such a stream or have been damaged. */
  push(bytes: Uint8Array): void {
    this.#begun.push(asBuffer(bytes));
    this.#begunBytes += bytes.length;
    if (this.#begunBytes < this.#neededBytes) return;
    const all = this.#begun.length === 1 ? asBuffer(bytes) : Buffer.concat(this.#begun);
    let at = 0;
    while (all.length - at >= preludeBytes) {
      const end = at + lengthOf(all, at);
      if (end > all.length) break;
      this.#split(all, at, end);
      at = end;
    }
    const rest = all.subarray(at);
    this.#begun = rest.length === 0 ? [] : [rest];
    this.#begunBytes = rest.length;
    this.#neededBytes = rest.length < preludeBytes ? preludeBytes : checkedLength(rest);
  }

  #split(bytes: Buffer, start: number, end: number): void {
    const payloadEnd = end - checksumBytes;
    if (hash.crc32(bytes.subarray(start, payloadEnd)) !== bytes.readUInt32BE(payloadEnd))
      throw broken("a message with a wrong checksum");
    const headersStart = start + preludeBytes;
    this.#take(bytes, headersStart, headersStart + bytes.readUInt32BE(start + 4), payloadEnd);
  }
}

/** The length of the message that starts here. A complete message proves its length by its own checksum. */
function lengthOf(bytes: Buffer, at: number): number {
  const total = bytes.readUInt32BE(at);
  const headersLength = bytes.readUInt32BE(at + 4);
  if (total < minBytes + headersLength || total > maxBytes || headersLength > maxHeaderBytes)
    throw broken(`a message of ${total} bytes with ${headersLength} bytes of headers`);
  return total;
}

/** The length of an incomplete message, whose prelude is checked first. */
function checkedLength(bytes: Buffer): number {
  if (hash.crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8))
    throw broken("a prelude with a wrong checksum");
  return lengthOf(bytes, 0);
}

/** The lengths of values by type: true, false, byte, short, integer, long, bytes, text, time, UUID. */
const fixedLengths = [0, 0, 1, 2, 4, 8, null, null, 8, 16] as const;
const textType = 7;

/** The headers whose value is a text, by name. */
export function readHeaders(bytes: Uint8Array): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  const text = asBuffer(bytes);
  for (let at = 0; at < bytes.length; ) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const type = bytes[nameEnd] ?? -1;
    const fixed = fixedLengths[type];
    if (fixed === undefined) throw broken("a header of an unknown type");
    const start = nameEnd + (fixed === null ? 3 : 1);
    const end = start <= bytes.length ? start + (fixed ?? text.readUInt16BE(nameEnd + 1)) : start;
    if (end > bytes.length) throw broken("truncated headers");
    if (type === textType)
      headers.set(text.toString("utf8", at + 1, nameEnd), text.toString("utf8", start, end));
    at = end;
  }
  return headers;
}

function broken(what: string): Error {
  return new WireError("EPROTO", `The event stream is broken: it has ${what}.`);
}
