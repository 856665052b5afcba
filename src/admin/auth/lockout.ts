import type { Clock } from "../../base/clock.ts";

const failuresAllowed = 5;
const lockedMs = 15 * 60_000;
const mostAddresses = 10_000;

interface Failures {
  count: number;
  /** Failures are forgotten, and a lock ends, this long after the last one that counted. */
  endsAtMs: number;
}

/** After five wrong tokens an address has to wait, the right token included, or guessing would go on. */
export class Lockout {
  readonly #clock: Clock;
  readonly #byAddress = new Map<string, Failures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whole seconds until the address may try again; 0 when it may now. */
  waitSeconds(address: string): number {
    const failures = this.#current(address);
    if (failures === undefined || failures.count < failuresAllowed) return 0;
    return Math.max(1, Math.ceil((failures.endsAtMs - this.#clock.monotonicMs()) / 1000));
  }

  failed(address: string): void {
    const count = (this.#current(address)?.count ?? 0) + 1;
    this.#byAddress.delete(address);
    const [oldest] = this.#byAddress.keys();
    if (oldest !== undefined && this.#byAddress.size >= mostAddresses) this.#byAddress.delete(oldest);
    this.#byAddress.set(address, { count, endsAtMs: this.#clock.monotonicMs() + lockedMs });
  }

  succeeded(address: string): void {
    this.#byAddress.delete(address);
  }

  #current(address: string): Failures | undefined {
    const failures = this.#byAddress.get(address);
    if (failures === undefined || failures.endsAtMs > this.#clock.monotonicMs()) return failures;
    this.#byAddress.delete(address);
    return undefined;
  }
}
