import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";

/** Damage in the middle of a write-ahead log. SQLite ignores everything behind it, without an error. */
export interface LogDamage {
  /** The first frame that cannot be read, from 1 on. */
  readonly frame: number;
  /** Intact transactions behind it, which are lost. */
  readonly transactions: number;
}

const headerBytes = 32;
const frameHeaderBytes = 24;
/** The last bit tells the order of the bytes in checksums: 0 for little-endian, as on every supported machine. */
const magic = 0x377f0682;
const framesPerRead = 256;

type Checksum = readonly [number, number];

/**
 * Finds a frame that cannot be read although other transactions of the same log follow its own. After a crash the last
 * transaction may be incomplete, and after a power cut any part of it may be missing, but no other follows it: it was not
 * synced. Null if the log is intact, or if there is none. Reads 8 MB, the usual length, in about 15 ms.
 */
export function findLogDamage(file: string): LogDamage | null {
  if (!existsSync(file)) return null;
  const descriptor = openSync(file, "r");
  try {
    const header = Buffer.alloc(headerBytes);
    if (readSync(descriptor, header, 0, headerBytes, 0) < headerBytes) return null;
    const frameBytes = frameHeaderBytes + header.readUInt32BE(8);
    if (header.readUInt32BE(0) !== magic || frameBytes > 65_536 + frameHeaderBytes) return null;
    const scan = new LogScan(header);
    const part = new Uint8Array(frameBytes * framesPerRead);
    const { size } = fstatSync(descriptor);
    for (let at = headerBytes; at + frameBytes <= size; ) {
      const read = readSync(descriptor, part, 0, part.length, at);
      const frames = Math.floor(read / frameBytes);
      if (frames === 0) break;
      for (let no = 0; no < frames; no += 1) scan.add(part.subarray(no * frameBytes, (no + 1) * frameBytes));
      at += frames * frameBytes;
    }
    return scan.damage;
  } finally {
    closeSync(descriptor);
  }
}

/** Each checksum covers everything before it, so the one that a frame has stored tells whether the next one is intact. */
class LogScan {
  readonly #salt: string;
  #frames = 0;
  #damagedFrame: number | null = null;
  /** Whether frames still belong to the transaction of the damaged one. */
  #isOwnTransaction = true;
  #transactions = 0;
  /** The checksum to continue; null after a frame of an earlier log. */
  #last: Checksum | null;

  constructor(header: Buffer) {
    this.#salt = header.toString("latin1", 16, 24);
    this.#last = checksumOf(header.subarray(0, 24), [0, 0]);
    const [one, other] = this.#last;
    if (one !== header.readInt32BE(24) || other !== header.readInt32BE(28)) this.#damagedFrame = 1;
  }

  get damage(): LogDamage | null {
    const isDamaged = this.#damagedFrame !== null && this.#transactions > 0;
    return isDamaged ? { frame: this.#damagedFrame ?? 0, transactions: this.#transactions } : null;
  }

  add(bytes: Uint8Array): void {
    this.#frames += 1;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const salt = Buffer.from(bytes.buffer, bytes.byteOffset + 8, 8).toString("latin1");
    const stored: Checksum = [view.getInt32(16), view.getInt32(20)];
    const isLast = view.getUint32(4) > 0;
    const isIntact = salt === this.#salt && this.#last !== null && isNext(bytes, this.#last, stored);
    if (!isIntact) this.#damagedFrame ??= this.#frames;
    else if (this.#damagedFrame !== null && isLast && !this.#isOwnTransaction) this.#transactions += 1;
    if (this.#damagedFrame !== null && isLast) this.#isOwnTransaction = false;
    this.#last = salt === this.#salt ? stored : null;
  }
}

function isNext(frame: Uint8Array, last: Checksum, stored: Checksum): boolean {
  const ofHeader = checksumOf(frame.subarray(0, 8), last);
  const [one, other] = checksumOf(frame.subarray(frameHeaderBytes), ofHeader);
  return one === stored[0] && other === stored[1];
}

/** SQLite's checksum, over pairs of 32-bit words. */
function checksumOf(bytes: Uint8Array, [first, second]: Checksum): Checksum {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  let one = first;
  let other = second;
  for (let at = 0; at < words.length; at += 2) {
    one = (one + (words[at] ?? 0) + other) | 0;
    other = (other + (words[at + 1] ?? 0) + one) | 0;
  }
  return [one, other];
}
