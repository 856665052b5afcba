import { type Bucket, msUntil, msUntilFull, wholeTokens } from "./bucket.ts";

/** A limiter's decision about one request, in terms of the response headers. */
export interface RateVerdict {
  readonly allowed: boolean;
  /** Null if no limit applies; there are no headers then. */
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

/** A bucket by its name, which is refilled with its capacity every minute. */
export interface BucketLimit {
  readonly name: string;
  readonly capacity: number;
}

/** A decision about several buckets, each of which has to have enough. */
export interface ReserveVerdict extends RateVerdict {
  /** Which of them the verdict is about: the one that is to be waited for longest or, if none is, the one with the least left. */
  readonly at: number;
}

/** Tokens of several buckets that a request has taken until it ends; none of them if it was not allowed. */
export interface TokenReservation {
  readonly buckets: readonly BucketLimit[];
  readonly amount: number;
  readonly verdict: ReserveVerdict;
}

/** Of several buckets, the one to report. */
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

/** Token buckets, shared by all who take from them. */
export interface RateLimits {
  /** One token of a key's bucket of requests. */
  take(keyId: string, rpmLimit: number | null): RateVerdict | Promise<RateVerdict>;
  /** As many tokens of each of these buckets, of which there is at least one; or none at all. */
  reserve(buckets: readonly BucketLimit[], amount: number): ReserveVerdict | Promise<ReserveVerdict>;
  /** Gives back what was reserved and not used. Below 0, more was used. */
  correct(buckets: readonly BucketLimit[], unused: number): void;
}
