/** Shorter runs are copied. */
const shortBytes = 512;
/** What short runs are copied to: a dozen events. */
const blockBytes = 2048;

/**
 * Whole events that may have to be read later, oldest first. Those of a slow stream come one by one. Kept as they are, each would
 * be an object with memory of its own that is old when it is read, and old ones are only freed by full garbage collections. So short
 * ones are copied, and read together.
 */
export class UnreadEvents {
  bytes = 0;
  #runs: Uint8Array[] = [];
  /** Its first bytes are the last run. */
  #block: Buffer | null = null;
  #blockLength = 0;

  add(run: Uint8Array): void {
    this.bytes += run.length;
    if (run.length >= shortBytes) {
      this.#closeBlock();
      this.#runs.push(run);
      return;
    }
    if (this.#blockLength + run.length > blockBytes) this.#closeBlock();
    this.#block ??= Buffer.allocUnsafeSlow(blockBytes);
    this.#block.set(run, this.#blockLength);
    this.#blockLength += run.length;
  }

  /** Returns runs of whole events, which must be read before more are added: the block is used again. */
  take(): readonly Uint8Array[] {
    const block = this.#block;
    this.#closeBlock();
    const runs = this.#runs;
    this.#runs = [];
    this.#block = block;
    this.bytes = 0;
    return runs;
  }

  #closeBlock(): void {
    if (this.#block === null || this.#blockLength === 0) return;
    this.#runs.push(this.#block.subarray(0, this.#blockLength));
    this.#block = null;
    this.#blockLength = 0;
  }
}
