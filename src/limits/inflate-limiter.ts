import { ChurnMap } from "../base/churn-map.ts";
import type { Clock } from "../base/clock.ts";
import { type Bucket, fullBucket, refill } from "./bucket.ts";

/** What a key's compressed frames may become in a minute, or at once. The largest frame fits twice. */
const bytesPerMinute = 64 * 1024 * 1024;
const minuteMs = 60_000;

/**
 * Limits what the runtime inflates for a key. It does so on the event loop, before anybody can look: 30 KB become 30 MiB there, in
 * some 50 ms, and a single read of a connection may bring a dozen such frames.
 */
export class InflateLimiter {
  readonly #clock: Clock;
  /** Of keys that have sent compressed frames, ordered by each key's latest. */
  readonly #buckets = new ChurnMap<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a new socket of the key may compress. */
  allows(keyId: string): boolean {
    return this.#filled(keyId, this.#clock.monotonicMs()).level > 0;
  }

  /** Counts a frame that has come. False if it was too much. */
  take(keyId: string, bytes: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#filled(keyId, nowMs);
    bucket.level -= bytes;
    this.#buckets.delete(keyId);
    this.#buckets.set(keyId, bucket);
    this.#forgetOld(nowMs);
    return bucket.level >= 0;
  }

  /** How many keys are known. */
  get size(): number {
    return this.#buckets.size;
  }

  #forgetOld(nowMs: number): void {
    for (const oldest of this.#buckets.keys()) {
      if ((this.#buckets.get(oldest)?.filledAtMs ?? 0) > nowMs - minuteMs) return;
      this.#buckets.delete(oldest);
    }
  }

  #filled(keyId: string, nowMs: number): Bucket {
    const bucket = this.#buckets.get(keyId) ?? fullBucket(bytesPerMinute, nowMs);
    refill(bucket, nowMs);
    return bucket;
  }
}
