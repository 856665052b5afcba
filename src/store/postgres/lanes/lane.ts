import { assert } from "../../../base/assert.ts";
import { nextLoopIteration } from "../../../base/loop/pacer.ts";
import { failureOf } from "./failure.ts";

export interface LaneOptions<Item, Answer> {
  /** Sends one batch; resolves with the result of each item once it is committed. */
  readonly send: (sequence: number, items: readonly Item[]) => Promise<readonly Answer[]>;
  /** How long a caller waits for its result. */
  readonly timeoutMs: (item: Item) => number;
  /** The error for a caller that has waited too long, or whose item can no longer be sent. */
  readonly unavailable: () => Error;
  /**
   * Whether an item is still sent after its caller has stopped waiting. If not, and it was sent already, its result is
   * passed to `onLateResponse`.
   */
  readonly isKept: (item: Item) => boolean;
  readonly onLateResponse?: (item: Item, answer: Answer) => void;
  /** The database rejects this item, and always will. Its caller gets the error too. */
  readonly onRejected?: (item: Item, error: unknown) => void;
  /** Called for each failed attempt, with null after a successful one. */
  readonly onAttempt: (failure: unknown | null) => void;
  readonly onFenced: () => void;
  /** Items of one group may wait for the same lock. */
  readonly groupOf: (item: Item) => string;
  /**
   * The lane for a group whose lock another session keeps, so that the others need not wait. Without it, the group is
   * retried after them.
   */
  readonly apart?: Lane<Item, Answer>;
  readonly onSetApart?: (group: string) => void;
  readonly maxItems?: number;
}

interface Entry<Item, Answer> {
  readonly item: Item;
  readonly addedAtMs: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  isAbandoned: boolean;
  /** Answered or rejected. */
  isEnded: boolean;
}

const defaultMostItems = 256;
const firstPauseMs = 10;
const maxPauseMs = 250;
const silenceCheckMs = 100;

/**
 * Sends items to the database in numbered batches, one at a time and in order. The number is part of the transaction:
 * after a lost reply the same batch is sent again under the same number, and the database either executes it now or
 * returns its earlier result. Items that arrive meanwhile form the next batch.
 */
export class Lane<Item, Answer> {
  readonly #options: LaneOptions<Item, Answer>;
  #waiting: Entry<Item, Answer>[] = [];
  #inFlight: readonly Entry<Item, Answer>[] = [];
  /** The number of the last batch that was committed. */
  #sequence = 0;
  #running: Promise<void> | null = null;
  /** While halted, nothing is sent; `resume` restarts at 1. */
  #isHalted = true;
  #watchTimer: ReturnType<typeof setInterval> | null = null;
  /** How long the database has been silent, counting only time in which this process could have received a reply. */
  #silentMs = 0;

  constructor(options: LaneOptions<Item, Answer>) {
    this.#options = options;
  }

  /** Items without a result yet, oldest first. */
  get pending(): readonly Item[] {
    return this.#pendingEntries().map(({ item }) => item);
  }

  /** Pending items that have waited at least this long. */
  pendingFor(ms: number): readonly Item[] {
    const addedBeforeMs = performance.now() - ms;
    const overdue = this.#pendingEntries().filter(({ addedAtMs }) => addedAtMs <= addedBeforeMs);
    return overdue.map(({ item }) => item);
  }

  get size(): number {
    return this.#inFlight.length + this.#waiting.length;
  }

  add(item: Item): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({
      item,
      addedAtMs: performance.now(),
      resolve,
      reject,
      isAbandoned: false,
      isEnded: false,
    });
    this.#watchTimer ??= this.#watch();
    this.#start();
    return promise;
  }

  /** Whether items of this group have no result yet. */
  isBusyWith(group: string): boolean {
    return this.#pendingEntries().some(({ item }) => this.#options.groupOf(item) === group);
  }

  /** Begins to send, as a node that has just joined. */
  resume(): void {
    assert(this.#isHalted && this.#running === null, "a lane is resumed when it has come to rest");
    this.#isHalted = false;
    this.#sequence = 0;
    this.#start();
  }

  /** Stops sending. Resolves when the current batch has finished; waiting items stay. */
  async halt(): Promise<void> {
    this.#isHalted = true;
    await this.#running;
  }

  /** Rejects what waits and need not be kept. Only while halted. */
  rejectUnkept(): void {
    assert(this.#isHalted && this.#running === null, "only a lane at rest can be emptied");
    const { isKept, unavailable } = this.#options;
    for (const { item, reject } of this.#waiting) if (!isKept(item)) reject(unavailable());
    this.#waiting = this.#waiting.filter(({ item }) => isKept(item));
  }

  /** Resolves with true when nothing is pending any more, with false after `maxMs`. */
  async drained(maxMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + maxMs;
    while (this.size > 0 && performance.now() < deadlineMs) await Bun.sleep(5);
    return this.size === 0;
  }

  #pendingEntries(): readonly Entry<Item, Answer>[] {
    return [...this.#inFlight, ...this.#waiting].filter(({ isEnded }) => !isEnded);
  }

  #start(): void {
    if (this.#running !== null || this.#isHalted) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      // An item may have been added between the last check and now.
      if (this.#waiting.length > 0) this.#start();
    });
  }

  async #run(): Promise<void> {
    // Items added together become one batch, and do not wait for the rest of this iteration of the event loop.
    await null;
    while (this.#waiting.length > 0 && !this.#isHalted) {
      this.#inFlight = this.#waiting.splice(0, this.#options.maxItems ?? defaultMostItems);
      const unanswered = await this.#deliver(this.#inFlight);
      this.#inFlight = [];
      if (unanswered.length > 0) this.#waiting = [...unanswered, ...this.#waiting];
      // Work triggered by the replies goes into the next batch: fewer and fuller batches cost the database less.
      await nextLoopIteration();
    }
  }

  /** Sends a batch until it has a result. Returns the items that were not sent because the lane was halted. */
  async #deliver(batch: readonly Entry<Item, Answer>[]): Promise<readonly Entry<Item, Answer>[]> {
    const { send, onAttempt, onFenced } = this.#options;
    const sequence = this.#sequence + 1;
    const items = batch.map(({ item }) => item);
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      if (this.#isHalted) return batch;
      try {
        const answers = await send(sequence, items);
        assert(answers.length === items.length, `${items.length} items need as many answers`);
        onAttempt(null);
        this.#silentMs = 0;
        this.#sequence = sequence;
        for (const [index, entry] of batch.entries()) this.#answer(entry, answers[index] as Answer);
        return [];
      } catch (error) {
        switch (failureOf(error)) {
          case "fenced":
            this.#isHalted = true;
            onFenced();
            return batch;
          case "rejected":
            return this.#isolate(batch, error);
          case "blocked":
            return this.#setApart(batch);
          case "unreachable":
            onAttempt(error);
            await Bun.sleep(pauseMs);
        }
      }
    }
  }

  /** The batch was rolled back, so its number is free. Its items are sent one by one; only the one at fault fails. */
  async #isolate(
    batch: readonly Entry<Item, Answer>[],
    error: unknown,
  ): Promise<readonly Entry<Item, Answer>[]> {
    const [only, ...others] = batch;
    if (others.length === 0) {
      if (only !== undefined) this.#reject(only, error);
      return [];
    }
    return this.#deliverEach(batch.map((entry) => [entry]));
  }

  /** The batch was rolled back as well. Its groups are sent one by one; only the one that is blocked has to wait. */
  async #setApart(batch: readonly Entry<Item, Answer>[]): Promise<readonly Entry<Item, Answer>[]> {
    const { groupOf, apart = this } = this.#options;
    const groups = [...Map.groupBy(batch, ({ item }) => groupOf(item)).values()];
    if (groups.length > 1) return this.#deliverEach(groups);
    for (const { item } of batch.slice(0, 1)) this.#options.onSetApart?.(groupOf(item));
    this.#inFlight = this.#inFlight.filter((entry) => !batch.includes(entry));
    apart.#waiting.push(...batch);
    apart.#watchTimer ??= apart.#watch();
    apart.#start();
    return [];
  }

  async #deliverEach(
    batches: readonly (readonly Entry<Item, Answer>[])[],
  ): Promise<readonly Entry<Item, Answer>[]> {
    for (const [index, batch] of batches.entries()) {
      const unanswered = await this.#deliver(batch);
      if (unanswered.length > 0) return batches.slice(index).flat();
    }
    return [];
  }

  #reject(entry: Entry<Item, Answer>, error: unknown): void {
    entry.isEnded = true;
    this.#options.onRejected?.(entry.item, error);
    entry.reject(error);
  }

  #answer(entry: Entry<Item, Answer>, answer: Answer): void {
    entry.isEnded = true;
    if (entry.isAbandoned) this.#options.onLateResponse?.(entry.item, answer);
    else entry.resolve(answer);
  }

  /** One timer for all callers: there are as many as requests. */
  #watch(): ReturnType<typeof setInterval> {
    this.#silentMs = 0;
    const timer = setInterval(() => this.#look(), silenceCheckMs);
    timer.unref();
    return timer;
  }

  /**
   * Fails callers only while the database does not respond: a long queue that moves is not an outage. Each check adds
   * only its own interval, because after a busy moment of this process a reply may have arrived without being read.
   */
  #look(): void {
    this.#silentMs += silenceCheckMs;
    this.#abandon(performance.now());
    if (this.size > 0 || this.#watchTimer === null) return;
    clearInterval(this.#watchTimer);
    this.#watchTimer = null;
  }

  #abandon(nowMs: number): void {
    const { timeoutMs, isKept, unavailable } = this.#options;
    for (const entry of this.#pendingEntries()) {
      const maxMs = timeoutMs(entry.item);
      if (entry.isAbandoned || this.#silentMs < maxMs || nowMs - entry.addedAtMs < maxMs) continue;
      entry.isAbandoned = true;
      entry.reject(unavailable());
    }
    this.#waiting = this.#waiting.filter(({ isAbandoned, item }) => !isAbandoned || isKept(item));
  }
}
