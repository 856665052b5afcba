import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import {
  type BucketLimit,
  type RateLimits,
  type RateVerdict,
  type ReserveVerdict,
  reserveVerdictOf,
  unlimited,
} from "./bucket.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** The source of buckets that several gateways share. */
export interface RateTokenSource {
  /** Takes the amount from every bucket, or from none. Rejects if there is no reply in time. */
  takeTokens(
    buckets: readonly BucketLimit[],
    amount: number,
  ): Promise<{ readonly granted: boolean; readonly levels: readonly number[] }>;
  /** Not awaited, and may be lost: a bucket is full again after a minute. */
  returnTokens(buckets: readonly BucketLimit[], unused: number): void;
}

/**
 * Buckets that several gateways share. A local request bucket has at least as many tokens as the shared one, because
 * only this gateway takes from it. If it is empty, the request is rejected without a query; otherwise the shared
 * bucket decides. Token buckets are always decided by the shared one, because every gateway returns tokens to them.
 */
export class SharedRateLimits implements RateLimits {
  readonly #local: RateLimiter;
  readonly #clock: Clock;
  readonly #source: RateTokenSource;

  constructor(clock: Clock, source: RateTokenSource) {
    this.#local = new RateLimiter(clock);
    this.#clock = clock;
    this.#source = source;
  }

  take(keyId: string, rpmLimit: number | null): RateVerdict | Promise<RateVerdict> {
    if (rpmLimit === null) return unlimited;
    const local = this.#local.take(keyId, rpmLimit);
    return local.allowed ? this.#takeShared(keyId, rpmLimit) : local;
  }

  async reserve(limits: readonly BucketLimit[], amount: number): Promise<ReserveVerdict> {
    const { granted, levels } = await this.#source.takeTokens(limits, amount).catch(unanswered);
    const filledAtMs = this.#clock.monotonicMs();
    const buckets = limits.map(({ capacity }, at) => ({ capacity, level: levels[at] ?? 0, filledAtMs }));
    return reserveVerdictOf(buckets, granted, amount);
  }

  correct(limits: readonly BucketLimit[], unused: number): void {
    this.#source.returnTokens(limits, unused);
  }

  async #takeShared(name: string, capacity: number): Promise<RateVerdict> {
    const { granted, levels } = await this.#source.takeTokens([{ name, capacity }], 1).catch(unanswered);
    return this.#local.lower(name, capacity, levels[0] ?? 0, granted);
  }
}

function unanswered(cause: unknown): never {
  throw new GatewayError(
    "service_unavailable",
    "The gateway cannot check this key's rate limit right now. Retry in a few seconds.",
    { retryAfterSeconds: 5, cause },
  );
}
