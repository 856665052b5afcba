/**
 * A token bucket as plain data and pure functions: `capacity` tokens, refilled over one minute, counted
 * only when it is used, so a million idle buckets take no CPU. All times are monotonic: a jump of the wall clock
 * neither fills nor empties a bucket.
 */
export interface Bucket {
  capacity: number;
  level: number;
  filledAtMs: number;
}

const refillMs = 60_000;

/** Refilling adds fractions; without this a token due at this millisecond may be short by 1e-16. */
const rounding = 1e-9;

export function fullBucket(capacity: number, nowMs: number): Bucket {
  return { capacity, level: capacity, filledAtMs: nowMs };
}

export function refill(bucket: Bucket, nowMs: number): void {
  const elapsedMs = nowMs - bucket.filledAtMs;
  if (elapsedMs <= 0) return;
  bucket.level = Math.min(bucket.capacity, bucket.level + (elapsedMs * bucket.capacity) / refillMs);
  bucket.filledAtMs = nowMs;
}

export function hasTokens(bucket: Bucket, nowMs: number, amount = 1): boolean {
  refill(bucket, nowMs);
  return bucket.level >= amount - rounding;
}

export function takeTokens(bucket: Bucket, nowMs: number, amount = 1): boolean {
  if (!hasTokens(bucket, nowMs, amount)) return false;
  bucket.level = Math.max(0, bucket.level - amount);
  return true;
}

/** Returns unused tokens. Below 0 it takes more than there may be; the level is then below 0 until it refills. */
export function returnTokens(bucket: Bucket, nowMs: number, unused: number): void {
  refill(bucket, nowMs);
  bucket.level = Math.min(bucket.capacity, bucket.level + unused);
}

/** A new limit keeps the fill in proportion: raising it grants no burst to a caller who has used everything. */
export function resize(bucket: Bucket, capacity: number): void {
  bucket.level = (bucket.level * capacity) / bucket.capacity;
  bucket.capacity = capacity;
}

function wholeTokens(bucket: Bucket): number {
  return Math.max(0, Math.floor(bucket.level + rounding));
}

/** As of the last refill. */
function msUntilFull(bucket: Bucket): number {
  return ((bucket.capacity - bucket.level) * refillMs) / bucket.capacity;
}

/** As of the last refill; 0 if there are enough tokens now. */
function msUntil(bucket: Bucket, amount: number): number {
  return Math.max(0, ((amount - rounding - bucket.level) * refillMs) / bucket.capacity);
}

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
