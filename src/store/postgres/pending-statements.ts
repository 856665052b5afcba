/** How long a statement waits before its state is checked at the server. */
const doubtAfterMs = 2_000;
const pollEveryMs = 1_000;
/** Two looks, because a reply in transit arrives between one look and the next. */
const checksToConfirm = 2;

interface Statement {
  readonly sentAtMs: number;
  readonly giveUp: () => void;
}

interface PendingStatementsOptions {
  /** Whether the server is running anything for these connections; null if unknown. */
  readonly isServerBusy: () => Promise<boolean | null>;
  /** The connections are lost. */
  readonly onLost: () => void;
}

/**
 * Statements on a pool with a long deadline, as reports may take their time. Bun.SQL does not always notice a lost
 * connection: without this, the first statement after a failover would wait for the whole deadline, and so would the
 * next.
 */
export class PendingStatements {
  readonly #options: PendingStatementsOptions;
  readonly #pending = new Set<Statement>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #isLooking = false;
  /** The oldest statement at the last look, and at how many looks the server has been idle since. */
  #doubted: Statement | null = null;
  #idleLooks = 0;

  constructor(options: PendingStatementsOptions) {
    this.#options = options;
  }

  /** Returns a function that ends the watch. */
  add(giveUp: () => void): () => void {
    const statement = { sentAtMs: performance.now(), giveUp };
    this.#pending.add(statement);
    this.#timer ??= this.#start();
    return () => {
      this.#pending.delete(statement);
    };
  }

  #start(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#look(), pollEveryMs);
    timer.unref();
    return timer;
  }

  #look(): void {
    const [oldest] = this.#pending;
    if (oldest === undefined) {
      if (this.#timer !== null) clearInterval(this.#timer);
      this.#timer = null;
    } else if (isDoubtful(oldest) && !this.#isLooking) void this.#doubt(oldest);
  }

  async #doubt(oldest: Statement): Promise<void> {
    this.#isLooking = true;
    const isBusy = await this.#options.isServerBusy().catch(() => null);
    this.#isLooking = false;
    const idleLooks = this.#doubted === oldest ? this.#idleLooks : 0;
    this.#doubted = oldest;
    this.#idleLooks = isBusy === false ? idleLooks + 1 : 0;
    if (this.#idleLooks < checksToConfirm || !this.#pending.has(oldest)) return;
    for (const statement of [...this.#pending]) if (isDoubtful(statement)) statement.giveUp();
    this.#options.onLost();
  }
}

function isDoubtful({ sentAtMs }: Statement): boolean {
  return performance.now() - sentAtMs >= doubtAfterMs;
}
