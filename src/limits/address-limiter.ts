import type { Clock } from "../base/clock.ts";
import { addressBlock } from "./address.ts";
import {
  type Bucket,
  fullBucket,
  hasTokens,
  type RateVerdict,
  resize,
  takeTokens,
  verdictOf,
} from "./bucket.ts";

const defaultMaxEntries = 10_000;

/**
 * For callers without a key: failed credentials and the public catalog. A caller may use many addresses, so memory
 * is bounded: the least recently seen address is evicted first.
 */
export class AddressLimiter {
  readonly #clock: Clock;
  /** May be changed at any time; buckets keep their fill in proportion. */
  rpm: number;
  readonly #maxEntries: number;
  /** Ordered by last use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, rpm: number, maxEntries = defaultMaxEntries) {
    this.#clock = clock;
    this.rpm = rpm;
    this.#maxEntries = maxEntries;
  }

  take(address: string): RateVerdict {
    const nowMs = this.#clock.monotonicMs();
    const block = addressBlock(address);
    const bucket = this.#buckets.get(block) ?? fullBucket(this.rpm, nowMs);
    if (bucket.capacity !== this.rpm) resize(bucket, this.rpm);
    this.#buckets.delete(block);
    this.#buckets.set(block, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > this.#maxEntries && oldest !== undefined) this.#buckets.delete(oldest);
    return verdictOf(bucket, takeTokens(bucket, nowMs));
  }

  /** Whether `take` would be allowed now. Takes nothing. */
  wouldAllow(address: string): boolean {
    const bucket = this.#buckets.get(addressBlock(address));
    return bucket === undefined || hasTokens(bucket, this.#clock.monotonicMs());
  }

  get size(): number {
    return this.#buckets.size;
  }
}
