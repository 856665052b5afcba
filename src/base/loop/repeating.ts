/** Work that is repeated as long as the process lives, without keeping it alive. What takes longer is not joined by another turn. */
export class Repeating {
  #timer: ReturnType<typeof setInterval> | null = null;
  #turn: Promise<unknown> | null = null;

  /** Does nothing if it runs already. The work must not fail. */
  start(everyMs: number, work: () => unknown): void {
    this.#timer ??= setInterval(() => {
      this.#turn ??= Promise.resolve(work()).finally(() => {
        this.#turn = null;
      });
    }, everyMs);
    this.#timer.unref();
  }

  /** Resolves when the current run has finished. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#turn;
  }
}
