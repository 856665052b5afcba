import type { Clock } from "../base/clock.ts";

/** Whole answers that a key may abandon per minute. */
const mostLeft = 20;
const withinMs = 60_000;

/**
 * Limits how often a key abandons whole answers. Their cost is unknown, so nothing is charged, but the provider may bill
 * them. A sliding window instead of a bucket, so that a client that leaves now and then is never refused.
 */
export class LeaveLimiter {
  readonly #clock: Clock;
  /** Recent times by key, ordered by each key's latest. */
  readonly #timesByKey = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  hasLeft(keyId: string): void {
    const nowMs = this.#clock.monotonicMs();
    const times = this.#timesByKey.get(keyId) ?? [];
    times.push(nowMs);
    if (times.length > mostLeft) times.shift();
    this.#timesByKey.delete(keyId);
    this.#timesByKey.set(keyId, times);
    this.#forgetOld(nowMs);
  }

  /** Until the key may ask again; 0 if now. */
  waitSeconds(keyId: string): number {
    const times = this.#timesByKey.get(keyId);
    const first = times?.[0];
    if (times === undefined || first === undefined || times.length < mostLeft) return 0;
    return Math.max(0, Math.ceil((first + withinMs - this.#clock.monotonicMs()) / 1000));
  }

  /** How many keys are known. */
  get size(): number {
    return this.#timesByKey.size;
  }

  #forgetOld(nowMs: number): void {
    for (const [keyId, times] of this.#timesByKey) {
      if ((times.at(-1) ?? 0) > nowMs - withinMs) return;
      this.#timesByKey.delete(keyId);
    }
  }
}
