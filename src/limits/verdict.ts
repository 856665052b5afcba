import { type Bucket, msUntil, msUntilFull, wholeTokens } from "./bucket.ts";

/** A limiter's decision about one request, in terms of the response headers. */
export interface RateVerdict {
  readonly allowed: boolean;
  /** Null if no limit applies; then no headers are sent. */
  readonly limit: number | null;
  readonly remaining: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Whole seconds until the request would be allowed: at least 1 when rejected, 0 when allowed. */
  readonly retryAfterSeconds: number;
}

export const unlimited: RateVerdict = {
  allowed: true,
  limit: null,
  remaining: Number.MAX_SAFE_INTEGER,
  resetSeconds: 0,
  retryAfterSeconds: 0,
};

export function verdictOf(bucket: Bucket, allowed: boolean, amount = 1): RateVerdict {
  return {
    allowed,
    limit: bucket.capacity,
    remaining: wholeTokens(bucket),
    resetSeconds: Math.ceil(msUntilFull(bucket) / 1000),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(msUntil(bucket, amount) / 1000)),
  };
}

/** A named bucket that refills by its capacity every minute. */
export interface BucketLimit {
  readonly name: string;
  readonly capacity: number;
}

/** A decision about several buckets, each of which needs enough tokens. */
export interface ReserveVerdict extends RateVerdict {
  /** The bucket that the verdict describes: the one with the longest wait or, if allowed, the one with the fewest tokens. */
  readonly at: number;
}

/** Tokens that a request has taken from several buckets until it ends; none if it was not allowed. */
export interface TokenReservation {
  readonly buckets: readonly BucketLimit[];
  readonly amount: number;
  readonly verdict: ReserveVerdict;
}

/** Picks the verdict of the bucket to report. */
export function reserveVerdictOf(
  buckets: readonly Bucket[],
  allowed: boolean,
  amount: number,
): ReserveVerdict {
  const verdicts = buckets.map((bucket, at) => ({ ...verdictOf(bucket, allowed, amount), at }));
  const first = (one: ReserveVerdict, other: ReserveVerdict) => {
    const isFirst = allowed
      ? one.remaining <= other.remaining
      : one.retryAfterSeconds >= other.retryAfterSeconds;
    return isFirst ? one : other;
  };
  return verdicts.reduce(first);
}

/** Token buckets of keys and models. */
export interface RateLimits {
  /** Takes one token of a key's request bucket. */
  take(keyId: string, rpmLimit: number | null): RateVerdict | Promise<RateVerdict>;
  /** Takes the amount from every one of these buckets (at least one), or from none. */
  reserve(buckets: readonly BucketLimit[], amount: number): ReserveVerdict | Promise<ReserveVerdict>;
  /** Returns reserved tokens that were not used. Below 0, more was used than reserved. */
  correct(buckets: readonly BucketLimit[], unused: number): void;
}
