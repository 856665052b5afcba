const defaultIdleMs = 300_000;

export interface IdleThreadOptions {
  readonly start: () => Worker;
  readonly onMessage: (event: MessageEvent) => void;
  /** Called when the thread is gone and cannot answer. */
  readonly onStop: () => void;
  isBusy(): boolean;
  readonly idleMs?: number | undefined;
}

/** A worker that starts when it is first needed, and ends when it has been idle for a while, so that an idle gateway needs little memory. */
export class IdleThread {
  readonly #options: IdleThreadOptions;
  #worker: Worker | null = null;
  #idleTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(options: IdleThreadOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** Null if it cannot be started. */
  get(): Worker | null {
    this.#postponeEnd();
    if (this.#worker !== null) return this.#worker;
    try {
      const worker = this.#options.start();
      worker.onmessage = this.#options.onMessage;
      worker.onerror = () => this.stop();
      worker.unref();
      this.#worker = worker;
    } catch {
      return null;
    }
    return this.#worker;
  }

  /** Ends the thread; `get` starts it again. */
  stop(): void {
    this.#worker?.terminate();
    this.#worker = null;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#options.onStop();
  }

  #postponeEnd(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      if (this.#options.isBusy()) this.#postponeEnd();
      else this.stop();
    }, this.#options.idleMs ?? defaultIdleMs);
    this.#idleTimer.unref();
  }
}
