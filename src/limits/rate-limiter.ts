import type { Clock } from "../base/clock.ts";
import {
  type Bucket,
  type BucketLimit,
  fullBucket,
  hasTokens,
  type RateLimits,
  type RateVerdict,
  type ReserveVerdict,
  refill,
  reserveVerdictOf,
  resize,
  returnTokens,
  takeTokens,
  unlimited,
  verdictOf,
} from "./bucket.ts";

/**
 * The buckets of a single gateway, in memory. A full bucket is equivalent to none, so it is dropped: every call
 * checks the next two entries, which limits the map to what was used in the last minute or so, without a timer and
 * without pauses that grow with the number of keys.
 */
export class RateLimiter implements RateLimits {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  #hand: MapIterator<[string, Bucket]>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#hand = this.#buckets.entries();
  }

  take(keyId: string, rpmLimit: number | null): RateVerdict {
    if (rpmLimit === null) return unlimited;
    const nowMs = this.#clock.monotonicMs();
    this.#forgetSome(nowMs);
    const bucket = this.#bucket(keyId, rpmLimit, nowMs);
    return verdictOf(bucket, takeTokens(bucket, nowMs));
  }

  reserve(limits: readonly BucketLimit[], amount: number): ReserveVerdict {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetSome(nowMs);
    const buckets = limits.map(({ name, capacity }) => this.#bucket(name, capacity, nowMs));
    // Refills all buckets, because the verdict is about one of them.
    const allowed = buckets.filter((bucket) => !hasTokens(bucket, nowMs, amount)).length === 0;
    if (allowed) for (const bucket of buckets) takeTokens(bucket, nowMs, amount);
    return reserveVerdictOf(buckets, allowed, amount);
  }

  correct(limits: readonly BucketLimit[], unused: number): void {
    const nowMs = this.#clock.monotonicMs();
    for (const { name, capacity } of limits) returnTokens(this.#bucket(name, capacity, nowMs), nowMs, unused);
  }

  /** Other gateways have taken from the shared bucket: lowers the local level to at most this. */
  lower(keyId: string, rpmLimit: number, level: number, allowed: boolean): RateVerdict {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#bucket(keyId, rpmLimit, nowMs);
    refill(bucket, nowMs);
    bucket.level = Math.min(bucket.level, level);
    return verdictOf(bucket, allowed);
  }

  /** Number of buckets in memory. */
  get size(): number {
    return this.#buckets.size;
  }

  #bucket(keyId: string, rpmLimit: number, nowMs: number): Bucket {
    const bucket = this.#buckets.getOrInsertComputed(keyId, () => fullBucket(rpmLimit, nowMs));
    if (bucket.capacity !== rpmLimit) resize(bucket, rpmLimit);
    return bucket;
  }

  #forgetSome(nowMs: number): void {
    for (let steps = 0; steps < 2; steps += 1) {
      const next = this.#hand.next();
      if (next.done) {
        this.#hand = this.#buckets.entries();
        return;
      }
      const [keyId, bucket] = next.value;
      refill(bucket, nowMs);
      if (bucket.level >= bucket.capacity) this.#buckets.delete(keyId);
    }
  }
}
