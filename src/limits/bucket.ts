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

export function hasOne(bucket: Bucket, nowMs: number): boolean {
  refill(bucket, nowMs);
  return bucket.level >= 1 - rounding;
}

export function takeOne(bucket: Bucket, nowMs: number): boolean {
  if (!hasOne(bucket, nowMs)) return false;
  bucket.level = Math.max(0, bucket.level - 1);
  return true;
}

/** A new limit keeps the fill in proportion: raising it grants no burst to a caller who has used everything. */
export function resize(bucket: Bucket, capacity: number): void {
  bucket.level = (bucket.level * capacity) / bucket.capacity;
  bucket.capacity = capacity;
}

export function wholeTokens(bucket: Bucket): number {
  return Math.floor(bucket.level + rounding);
}

/** As of the last refill. */
export function msUntilFull(bucket: Bucket): number {
  return ((bucket.capacity - bucket.level) * refillMs) / bucket.capacity;
}

/** As of the last refill; 0 when there is a token now. */
export function msUntilOne(bucket: Bucket): number {
  return Math.max(0, ((1 - rounding - bucket.level) * refillMs) / bucket.capacity);
}
