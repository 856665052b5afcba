import type { SeededRandom } from "../random.ts";
import type { DiskEvent } from "./record.ts";

/** A disk writes such a piece as a whole, or not at all. */
const sectorBytes = 512;

interface Change {
  readonly event: DiskEvent;
  /** Grows with each change. */
  readonly no: number;
}

/** A file with the changes that no sync has covered yet. */
export class UnsyncedFile {
  readonly #random: SeededRandom;
  #synced = new Image();
  #changes: Change[] = [];
  #lastNo = 0;
  /** The last change before the running sync of each thread began. */
  readonly #begun = new Map<number, number>();

  constructor(random: SeededRandom, content: Buffer) {
    this.#random = random;
    this.#synced.write(0, content);
  }

  happen(event: DiskEvent): void {
    switch (event.kind) {
      case "write":
      case "truncate":
        this.#lastNo += 1;
        this.#changes.push({ event, no: this.#lastNo });
        return;
      case "unlink":
        this.#synced = new Image();
        this.#changes = [];
        return;
      case "syncBegun":
        this.#begun.set(event.thread, this.#lastNo);
        return;
      case "synced":
        this.#cover(this.#begun.get(event.thread) ?? 0);
        this.#begun.delete(event.thread);
        return;
      case "syncFailed":
        this.#drop();
        return;
      case "acknowledged":
    }
  }

  /** What a power cut leaves: any of the changes since the last sync, some of them in part. */
  afterPowerCut(): Buffer {
    const left = this.#synced.copy();
    const share = this.#random.pick([0, 0.1, 0.5, 0.9, 1]);
    for (const { event } of this.#changes) {
      if (!this.#random.chance(share)) continue;
      if (event.kind === "write" && this.#random.chance(0.1)) this.#applyInPart(left, event);
      else left.apply(event);
    }
    return left.content;
  }

  /**
   * A sync failed: the system may have dropped any of the changes, and does not try again. What another sync is just
   * writing is on the disk, or that sync would fail, too.
   */
  #drop(): void {
    this.#cover(Math.max(0, ...this.#begun.values()));
    for (const { event } of this.#changes) if (this.#random.chance(0.5)) this.#synced.apply(event);
    this.#changes = [];
  }

  #cover(through: number): void {
    const later = this.#changes.findIndex(({ no }) => no > through);
    const covered = this.#changes.splice(0, later === -1 ? this.#changes.length : later);
    for (const { event } of covered) this.#synced.apply(event);
  }

  #applyInPart(image: Image, { offset, data }: DiskEvent): void {
    for (let from = 0; from < data.length; ) {
      const bytes = sectorBytes - ((offset + from) % sectorBytes);
      if (this.#random.chance(0.5)) image.write(offset + from, data.subarray(from, from + bytes));
      from += bytes;
    }
  }
}

/** The bytes of a file. */
class Image {
  #bytes: Buffer;
  #size = 0;

  constructor(bytes = Buffer.alloc(0), size = 0) {
    this.#bytes = bytes;
    this.#size = size;
  }

  get content(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  copy(): Image {
    return new Image(Buffer.from(this.content), this.#size);
  }

  apply({ kind, offset, data }: DiskEvent): void {
    if (kind === "write") this.write(offset, data);
    else this.#resize(offset);
  }

  write(offset: number, data: Buffer): void {
    if (offset + data.length > this.#size) this.#resize(offset + data.length);
    data.copy(this.#bytes, offset);
  }

  /** New bytes are 0. */
  #resize(size: number): void {
    if (size > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(size, 2 * this.#bytes.length));
      this.content.copy(larger);
      this.#bytes = larger;
    }
    this.#bytes.fill(0, Math.min(size, this.#size), Math.max(size, this.#size));
    this.#size = size;
  }
}
