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

export function wholeTokens(bucket: Bucket): number {
  return Math.max(0, Math.floor(bucket.level + rounding));
}

/** As of the last refill. */
export function msUntilFull(bucket: Bucket): number {
  return ((bucket.capacity - bucket.level) * refillMs) / bucket.capacity;
}

/** As of the last refill; 0 if there are enough tokens now. */
export function msUntil(bucket: Bucket, amount: number): number {
  return Math.max(0, ((amount - rounding - bucket.level) * refillMs) / bucket.capacity);
}
