/** Work that is repeated as long as the process lives, without keeping it alive. */
export class Repeating {
  #timer: ReturnType<typeof setInterval> | null = null;

  /** Does nothing if it runs already. */
  start(everyMs: number, work: () => void): void {
    this.#timer ??= setInterval(work, everyMs);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
