import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Repeating } from "../../../base/loop/repeating.ts";
import type { Reserve } from "../../journal/reserve.ts";

/** Room for the charges of tens of thousands of requests. */
const defaultBytes = 8 * 1024 * 1024;
const chunk = new Uint8Array(1024 * 1024);
const refillEveryMs = 2_000;

/**
 * A file that reserves disk space: when the disk is full, deleting it makes room for the charges of running requests.
 * Until it can be created again, the store accepts no new requests.
 */
export class DiskReserve implements Reserve {
  readonly #file: string;
  readonly #bytes: number;
  #isSpent = false;
  readonly #timer = new Repeating();

  constructor(file: string, bytes = defaultBytes) {
    this.#file = file;
    this.#bytes = bytes;
  }

  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Creates the file if it is missing. If there is no room, the reserve counts as spent. */
  fill(): void {
    if (this.#isThere()) return;
    if (this.#tryFill()) return;
    this.#isSpent = true;
    this.#keepTrying();
  }

  /** Frees the space; false when there is none to free. */
  spend(): boolean {
    if (this.#isSpent) return false;
    this.#isSpent = true;
    this.#keepTrying();
    return this.#remove();
  }

  close(): void {
    this.#timer.stop();
  }

  #keepTrying(): void {
    this.#timer.start(refillEveryMs, () => {
      if (!this.#tryFill()) return;
      this.#isSpent = false;
      this.close();
    });
  }

  #isThere(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.size === this.#bytes;
  }

  /** Only if twice as much stays free; otherwise the next write of any program would fail. */
  #tryFill(): boolean {
    try {
      const disk = statfsSync(dirname(this.#file));
      if (disk.bavail * disk.bsize < 3 * this.#bytes) return false;
      this.#write();
      return true;
    } catch {
      this.#remove();
      return false;
    }
  }

  /** A failing disk may fail even here; the caller continues without the space. */
  #remove(): boolean {
    try {
      rmSync(this.#file, { force: true });
      return true;
    } catch {
      return false;
    }
  }

  /** Real bytes, not a hole: a sparse file would reserve nothing. */
  #write(): void {
    const descriptor = openSync(this.#file, "w", 0o600);
    try {
      for (let written = 0; written < this.#bytes; written += chunk.length) writeSync(descriptor, chunk);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }
}
