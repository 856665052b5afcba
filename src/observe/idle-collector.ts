const lookEveryMs = 500;

/** Fewer exchanges leave too little garbage to be worth a collection. */
const worthwhileExchanges = 1000;

export interface IdleCollectorOptions {
  /** Whether nothing is in flight now. */
  readonly isIdle: () => boolean;
  readonly collect?: () => void;
}

/**
 * Collects garbage once a busy time is over. While requests come, the collector lets garbage gather, up to a few hundred
 * megabytes, because that is cheaper; when they stop, nothing would make it hurry, and the memory would stay with the
 * process. The collection blocks for some ten milliseconds, so it waits until nothing has ended for half a second
 * and nothing is in flight.
 */
export class IdleCollector {
  readonly #isIdle: () => boolean;
  readonly #collect: () => void;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Exchanges that ended since the last collection, and how many of them had at the last look. */
  #ended = 0;
  #endedBefore = 0;

  constructor({ isIdle, collect = () => Bun.gc(true) }: IdleCollectorOptions) {
    this.#isIdle = isIdle;
    this.#collect = collect;
    this.#timer = setInterval(() => this.look(), lookEveryMs);
    this.#timer.unref();
  }

  readonly observe = (): void => {
    this.#ended += 1;
  };

  look(): void {
    const isQuiet = this.#ended === this.#endedBefore && this.#isIdle();
    this.#endedBefore = this.#ended;
    if (!isQuiet || this.#ended < worthwhileExchanges) return;
    this.#ended = 0;
    this.#endedBefore = 0;
    this.#collect();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
