import type { Clock } from "../../base/clock.ts";

const failuresAllowed = 5;
const lockedMs = 15 * 60_000;
const maxAddresses = 10_000;

/** Delay of the response to a wrong token from a locked address. */
const slowResponseMs = 1000;
/** At most this many responses are delayed: each holds a connection open. */
const maxSlowed = 100;

interface Failures {
  count: number;
  /** When failures are forgotten and a lock ends. */
  endsAtMs: number;
}

/**
 * Slows down guessing. After five wrong tokens an address is locked for a while, and further wrong tokens from it
 * are answered late. The right token is never delayed: an operator may share an address with an attacker, and a
 * token is too long to be guessed.
 */
export class Lockout {
  readonly #clock: Clock;
  readonly #byAddress = new Map<string, Failures>();
  #slowed = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whole seconds until the address may try again; 0 if it may now. */
  waitSeconds(address: string): number {
    const failures = this.#current(address);
    if (failures === undefined || failures.count < failuresAllowed) return 0;
    return Math.max(1, Math.ceil((failures.endsAtMs - this.#clock.monotonicMs()) / 1000));
  }

  /** Further failures do not extend a lock. */
  failed(address: string): void {
    const count = (this.#current(address)?.count ?? 0) + 1;
    if (count > failuresAllowed) return;
    this.#byAddress.delete(address);
    const [oldest] = this.#byAddress.keys();
    if (oldest !== undefined && this.#byAddress.size >= maxAddresses) this.#byAddress.delete(oldest);
    this.#byAddress.set(address, { count, endsAtMs: this.#clock.monotonicMs() + lockedMs });
  }

  succeeded(address: string): void {
    this.#byAddress.delete(address);
  }

  /** Resolves when the response to a locked address can be sent. */
  async slowDown(): Promise<void> {
    if (this.#slowed >= maxSlowed) return;
    this.#slowed += 1;
    await Bun.sleep(slowResponseMs);
    this.#slowed -= 1;
  }

  #current(address: string): Failures | undefined {
    const failures = this.#byAddress.get(address);
    if (failures === undefined || failures.endsAtMs > this.#clock.monotonicMs()) return failures;
    this.#byAddress.delete(address);
    return undefined;
  }
}
