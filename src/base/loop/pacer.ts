/** Resolves once everything that is ready in this iteration of the event loop has run. */
export function nextLoopIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves once no promise is left to continue. The iteration of the event loop is still the same. */
function microtasksDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

export interface PacerLimits {
  /** Milliseconds of an iteration that waiting callers share. Without it, one caller resumes per iteration. */
  readonly budgetMs?: number;
  /**
   * Calls of `take` per iteration that pass without waiting, and the most waiting callers that resume in one: what they do after other
   * waits is not measured. After a long iteration, one resumes per millisecond of it.
   */
  readonly free?: number;
}

/**
 * Spreads work over iterations of the event loop, so that none takes long however many callers there are. Waiting
 * callers resume in FIFO order.
 */
export class LoopPacer {
  readonly #budgetMs: number;
  readonly #free: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #isRunning = false;

  constructor({ budgetMs = 0, free = 0 }: PacerLimits = {}) {
    this.#budgetMs = budgetMs;
    this.#free = free;
  }

  /** Whether the caller may continue at once. Otherwise it has to `wait`. */
  take(): boolean {
    if (this.#taken === this.#free || this.#waiting.length > 0) return false;
    // A few are counted over several iterations: noticing the end of each would take longer than they do.
    if (this.#taken === this.#free >> 3) setImmediate(this.#renew);
    this.#taken += 1;
    return true;
  }

  /** Resolves in a later iteration. */
  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  readonly #renew = () => {
    this.#taken = 0;
  };

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let startMs = performance.now(); this.#waiting.length > 0; ) {
      await nextLoopIteration();
      const nowMs = performance.now();
      const max = this.#maxAfter(nowMs - startMs);
      startMs = nowMs;
      let goneOn = 0;
      do {
        this.#waiting.shift()?.();
        goneOn += 1;
        // What it does until it waits for something else counts.
        await microtasksDone();
      } while (this.#waiting.length > 0 && goneOn < max && performance.now() < nowMs + this.#budgetMs);
    }
    this.#isRunning = false;
  }

  #maxAfter(iterationMs: number): number {
    return this.#free === 0 ? Number.POSITIVE_INFINITY : Math.max(this.#free, iterationMs);
  }
}

/** With fewer items per turn, the extra turn costs about as much as batching saves. */
const batchThreshold = 2;
/** Turns in the moving average, so that a single small one does not end batching. */
const averagedTurns = 8;
/** Without a crowd, every 64th item is processed as a batch, to see whether a crowd has formed. */
const itemsBetweenChecks = 64;

/** Every batch of the process. */
const batches: { readonly addedCount: number; readonly handledCount: number }[] = [];

/** Calls back once every item added so far has been handled. */
export function whenBatchesAreHandled(callback: () => void): void {
  const awaited = batches.map(({ addedCount }) => addedCount);
  const look = () => {
    if (batches.every(({ handledCount }, index) => handledCount >= (awaited[index] ?? 0))) callback();
    else setImmediate(look);
  };
  look();
}

/**
 * Batches requests that arrive in the same event-loop turn. The code that handles one is then still in the processor's
 * caches for the next, instead of being displaced by socket reads and writes in between: without it, each of 32 requests
 * at once takes 14% more CPU time. Without a crowd nothing is batched, because the extra turn would delay each item by
 * some 20 µs.
 */
export class LoopBatch<Item> {
  readonly #handle: (item: Item, handledTogether: number) => void;
  #waiting: Item[] = [];
  /** Moving average of items per batched turn. */
  #itemsPerTurn = 0;
  #itemsUntilLook = itemsBetweenChecks;
  #addedCount = 0;

  constructor(handle: (item: Item, handledTogether: number) => void) {
    this.#handle = handle;
    batches.push(this);
  }

  /** Items added so far. */
  get addedCount(): number {
    return this.#addedCount;
  }

  /** Items handled so far, oldest first. */
  get handledCount(): number {
    return this.#addedCount - this.#waiting.length;
  }

  /** Ask once per item. If false, handle the item immediately instead of adding it. */
  shouldAdd(): boolean {
    if (this.#isCrowd || this.#waiting.length > 0) return true;
    this.#itemsUntilLook -= 1;
    if (this.#itemsUntilLook > 0) return false;
    this.#itemsUntilLook = itemsBetweenChecks;
    return true;
  }

  get #isCrowd(): boolean {
    return this.#itemsPerTurn >= batchThreshold;
  }

  /** Handled at the end of this turn, in order of arrival. */
  add(item: Item): void {
    this.#addedCount += 1;
    if (this.#waiting.push(item) === 1) setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    const items = this.#waiting;
    this.#waiting = [];
    const weight = this.#isCrowd ? averagedTurns : 1;
    this.#itemsPerTurn += (items.length - this.#itemsPerTurn) / weight;
    let handled = 0;
    try {
      for (; handled < items.length; handled += 1) this.#handle(items[handled] as Item, items.length);
    } finally {
      // An exception is reported as uncaught; the remaining items are still handled.
      for (const item of items.slice(handled + 1)) this.add(item);
    }
  };
}
