import { type Bucket, msUntilFull, msUntilOne, wholeTokens } from "./bucket.ts";

/** A limiter's decision about one request, in terms of the response headers. */
export interface RateVerdict {
  readonly allowed: boolean;
  /** Null if no limit applies; there are no headers then. */
  readonly limit: number | null;
  readonly remaining: number;
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Whole seconds until one request would be allowed: at least 1 when refused, 0 when allowed. */
  readonly retryAfterSeconds: number;
}

export const unlimited: RateVerdict = {
  allowed: true,
  limit: null,
  remaining: Number.MAX_SAFE_INTEGER,
  resetSeconds: 0,
  retryAfterSeconds: 0,
};

export function verdictOf(bucket: Bucket, allowed: boolean): RateVerdict {
  return {
    allowed,
    limit: bucket.capacity,
    remaining: wholeTokens(bucket),
    resetSeconds: Math.ceil(msUntilFull(bucket) / 1000),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil(msUntilOne(bucket) / 1000)),
  };
}

/** One bucket per key, shared by all who take from it. */
export interface RateLimits {
  take(keyId: string, rpmLimit: number | null): RateVerdict | Promise<RateVerdict>;
}
