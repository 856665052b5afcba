import type { Clock } from "../../base/clock.ts";

const failuresAllowed = 5;
const lockedMs = 15 * 60_000;
const mostAddresses = 10_000;

/** How long a wrong token from a locked address waits for its answer. */
const slowAnswerMs = 1000;
/** More than so many do not wait: each is an open connection. */
const mostSlowed = 100;

interface Failures {
  count: number;
  /** Failures are forgotten, and a lock ends, this long after the last one that counted. */
  endsAtMs: number;
}

/**
 * Slows guessing down. After five wrong tokens an address is told to wait, and how long; further wrong tokens from it
 * are answered late. The right token is never kept waiting: an operator may share an address with whoever guesses, and
 * a token has too many letters to be found by trying.
 */
export class Lockout {
  readonly #clock: Clock;
  readonly #byAddress = new Map<string, Failures>();
  #slowed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whole seconds until the address may try again; 0 when it may now. */
  waitSeconds(address: string): number {
    const failures = this.#current(address);
    if (failures === undefined || failures.count < failuresAllowed) return 0;
    return Math.max(1, Math.ceil((failures.endsAtMs - this.#clock.monotonicMs()) / 1000));
  }

  /** A locked address stays locked for as long as it was told; trying on does not make it longer. */
  failed(address: string): void {
    const count = (this.#current(address)?.count ?? 0) + 1;
    if (count > failuresAllowed) return;
    this.#byAddress.delete(address);
    const [oldest] = this.#byAddress.keys();
    if (oldest !== undefined && this.#byAddress.size >= mostAddresses) this.#byAddress.delete(oldest);
    this.#byAddress.set(address, { count, endsAtMs: this.#clock.monotonicMs() + lockedMs });
  }

  succeeded(address: string): void {
    this.#byAddress.delete(address);
  }

  /** Resolves when a locked address may have its answer. */
  async slowDown(): Promise<void> {
    if (this.#slowed >= mostSlowed) return;
    this.#slowed += 1;
    await Bun.sleep(slowAnswerMs);
    this.#slowed -= 1;
  }

  #current(address: string): Failures | undefined {
    const failures = this.#byAddress.get(address);
    if (failures === undefined || failures.endsAtMs > this.#clock.monotonicMs()) return failures;
    this.#byAddress.delete(address);
    return undefined;
  }
}
