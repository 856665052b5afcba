import { Bag } from "../../base/collections/churn-map.ts";
import type { GatewayError } from "../../base/errors.ts";
import { afterArrivals } from "../../base/loop/deadline.ts";

/** A stream, to be checked regularly. */
export interface WatchedStream {
  /** Called every tick with the monotonic time. */
  check(nowMs: number): void;
}

/** A stream that has begun. */
export interface GuardedStream extends WatchedStream {
  /** Its client does not read, so nothing happens in it. */
  readonly isStalled: boolean;
  /** Ends it early, settled and with an in-band error. */
  interrupt(error: GatewayError): void;
}

const tickMs = 100;
/**
 * A tick that is this late shows that the process was suspended or busy, so responses may have arrived that were not
 * read.
 */
const lateMs = 100;

/**
 * One timer for all open streams: thousands of timers, set and cleared per event, cost more than the events. It only
 * runs while there are streams.
 */
export class Watchdog {
  readonly #monotonicMs: () => number;
  readonly #watched = new Bag<WatchedStream>();
  #dueMs = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  watch(stream: WatchedStream): void {
    this.#watched.add(stream);
    if (this.#timer === null) this.#start();
  }

  forget(stream: WatchedStream): void {
    this.#watched.delete(stream);
    if (this.#watched.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  get size(): number {
    return this.#watched.size;
  }

  #start(): void {
    this.#dueMs = this.#monotonicMs() + tickMs;
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  #tick(): void {
    const nowMs = this.#monotonicMs();
    const isLate = nowMs - this.#dueMs > lateMs;
    this.#dueMs = nowMs + tickMs;
    if (isLate) afterArrivals(() => this.#checkAll());
    else this.#checkAll();
  }

  #checkAll(): void {
    const nowMs = this.#monotonicMs();
    for (const stream of this.#watched) stream.check(nowMs);
  }
}
