import type { Clock } from "../base/clock.ts";
import { ChurnMap } from "../base/collections/churn-map.ts";

interface CountedBytes {
  readonly bytes: number;
  readonly atMs: number;
}

export interface ByteLimits {
  /** At once. */
  readonly maxBytes: number;
  /** What of it comes back. */
  readonly bytesPerMs: number;
}

/** Limits bytes for each key, at once and over time. */
export class ByteLimiter {
  readonly #clock: Clock;
  readonly #limits: ByteLimits;
  /** Of keys with bytes that count, ordered by each key's latest. */
  readonly #byKey = new ChurnMap<string, CountedBytes>();

  constructor(clock: Clock, limits: ByteLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Whether all has come back. */
  allows(keyId: string): boolean {
    return this.#bytesOf(keyId, this.#clock.monotonicMs()) === 0;
  }

  /** Counts bytes that have come. False if they were too much. */
  take(keyId: string, bytes: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    const counted = this.#bytesOf(keyId, nowMs) + bytes;
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, { bytes: counted, atMs: nowMs });
    this.#forgetOld(nowMs);
    return counted <= this.#limits.maxBytes;
  }

  /** Counts bytes if they fit, and returns 0; else returns after how many seconds they would. */
  wait(keyId: string, bytes: number): number {
    const seconds = this.secondsUntil(keyId, bytes);
    if (seconds === 0) this.take(keyId, bytes);
    return seconds;
  }

  /** When this many bytes would fit; 0 for now. What is larger than the limit fits alone. */
  secondsUntil(keyId: string, bytes: number): number {
    const { maxBytes, bytesPerMs } = this.#limits;
    const counted = this.#bytesOf(keyId, this.#clock.monotonicMs());
    return Math.ceil(Math.max(0, Math.min(counted, counted + bytes - maxBytes)) / bytesPerMs / 1000);
  }

  /** How many keys are known. */
  get size(): number {
    return this.#byKey.size;
  }

  #bytesOf(keyId: string, nowMs: number): number {
    const known = this.#byKey.get(keyId);
    return known === undefined
      ? 0
      : Math.max(0, known.bytes - (nowMs - known.atMs) * this.#limits.bytesPerMs);
  }

  #forgetOld(nowMs: number): void {
    const { maxBytes, bytesPerMs } = this.#limits;
    for (const oldest of this.#byKey.keys()) {
      const atMs = this.#byKey.get(oldest)?.atMs ?? 0;
      if (atMs > nowMs - maxBytes / bytesPerMs || this.#bytesOf(oldest, nowMs) > 0) return;
      this.#byKey.delete(oldest);
    }
  }
}
