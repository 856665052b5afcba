import { sharedBytes } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { LoopPacer } from "../../base/loop/pacer.ts";
import type { FileRecord, FileRecords } from "../../store/store.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import { noDiskSpace } from "../exchange/describe-error.ts";
import { bodyPieces, openBody } from "../turns/turn-body.ts";

/** All parts but the last have this length, so that any byte is found without reading those before it. */
const partBytes = 256 * 1024;

/** Nothing of batches is stored on a disk with less space: charges need it. */
const freeForCharges = 1024 * 1024 * 1024;

export function requireDiskSpace({ freeBytes }: Pick<FileRecords, "freeBytes">): void {
  if ((freeBytes() ?? Number.POSITIVE_INFINITY) < freeForCharges) throw noDiskSpace();
}

/** Writes one part per event-loop iteration, also of several uploads. */
const partPacer = new LoopPacer();

export interface InputFiles {
  readonly records: FileRecords;
  /** What parts are encrypted with; null for nothing. */
  readonly key: Uint8Array | null;
}

export interface InputLimits {
  readonly maxBytes: number;
  tooLong(): Error;
  readonly bytesPerKey: number;
  full(): Error;
}

/** What a part is encrypted as. */
function partName(id: string, sequence: number): string {
  return `${id} ${sequence}`;
}

/** Stores an input while it arrives, never more than a part of it in memory. */
export class InputWriter {
  readonly #files: InputFiles;
  readonly #id: string;
  readonly #limits: InputLimits;
  readonly #hash: Bun.CryptoHasher | null;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #parts = 0;
  bytes = 0;

  /** Its hash is only needed where retries are recognized by it. */
  constructor(files: InputFiles, id: string, limits: InputLimits, isHashed: boolean) {
    this.#files = files;
    this.#id = id;
    this.#limits = limits;
    this.#hash = isHashed ? new Bun.CryptoHasher("sha256") : null;
  }

  /** The hash of what was written; call it once. */
  get hash(): string {
    return this.#hash?.digest("hex") ?? "";
  }

  /** The bytes are copied. */
  async write(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.length;
    if (this.bytes > this.#limits.maxBytes) throw this.#limits.tooLong();
    this.#hash?.update(bytes);
    for (let at = 0; at < bytes.length; ) {
      const taken = bytes.subarray(at, at + partBytes - this.#waitingBytes);
      this.#waiting.push(Buffer.from(taken));
      this.#waitingBytes += taken.length;
      at += taken.length;
      if (this.#waitingBytes === partBytes) await this.#writePart();
    }
  }

  async end(): Promise<void> {
    if (this.#waitingBytes > 0) await this.#writePart();
  }

  async #writePart(): Promise<void> {
    const { records, key } = this.#files;
    // A part takes some milliseconds, and many uploads continue after the same sync.
    await partPacer.wait();
    requireDiskSpace(records);
    const name = partName(this.#id, this.#parts);
    const body = Buffer.concat([...bodyPieces(name, this.#waiting, key)]);
    const part = { fileId: this.#id, sequence: this.#parts, body, bytes: this.#waitingBytes };
    this.#waiting = [];
    this.#waitingBytes = 0;
    const { bytesPerKey, full } = this.#limits;
    if (!(await records.addPart(part, bytesPerKey))) throw full();
    this.#parts += 1;
  }
}

/** Reads an input part by part. The latest part is kept, because lines are read one after the other. */
export class InputReader {
  readonly #files: InputFiles;
  readonly #id: string;
  #latest: { readonly sequence: number; readonly body: Promise<Uint8Array | null> } | null = null;

  constructor(files: InputFiles, id: string) {
    this.#files = files;
    this.#id = id;
  }

  /** Null if it was deleted, or encrypted with another key. A large one is in memory that other threads see, read a part per iteration. */
  async range(start: number, length: number): Promise<Uint8Array | null> {
    const isLarge = length >= largeBodyBytes;
    const whole = isLarge ? sharedBytes(length) : Buffer.alloc(length);
    for (let at = start; at < start + length; ) {
      if (isLarge) await bodyPacer.wait();
      const sequence = Math.floor(at / partBytes);
      const part = await this.#part(sequence);
      const from = at - sequence * partBytes;
      const piece = part?.subarray(from, from + start + length - at) ?? null;
      if (piece === null || piece.length === 0) return null;
      whole.set(piece, at - start);
      at += piece.length;
    }
    return whole;
  }

  /** Its bytes in order. Throws where they cannot be read. */
  async *pieces({ bytes }: Pick<FileRecord, "bytes">): AsyncGenerator<Uint8Array> {
    for (let sequence = 0; sequence * partBytes < bytes; sequence += 1) {
      await bodyPacer.wait();
      const part = await this.#part(sequence);
      if (part === null) throw new GatewayError("internal_error", "The file cannot be read any more.");
      yield part;
    }
  }

  #part(sequence: number): Promise<Uint8Array | null> {
    if (this.#latest?.sequence === sequence) return this.#latest.body;
    const body = this.#read(sequence);
    this.#latest = { sequence, body };
    return body;
  }

  async #read(sequence: number): Promise<Uint8Array | null> {
    const { records, key } = this.#files;
    const stored = await records.part(this.#id, sequence);
    return stored && openBody(partName(this.#id, sequence), stored, key);
  }
}
