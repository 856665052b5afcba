import type { Clock } from "../base/clock.ts";
import { ChurnMap } from "../base/collections/churn-map.ts";

interface CountedBytes {
  readonly bytes: number;
  readonly atMs: number;
}

export interface ByteLimits {
  /** The limit at any moment. */
  readonly maxBytes: number;
  /** The rate at which used bytes become free again. */
  readonly bytesPerMs: number;
}

/** Limits each key's bytes, both at once and over time. */
export class ByteLimiter {
  readonly #clock: Clock;
  readonly #limits: ByteLimits;
  /** Keys with bytes that count, ordered by each key's latest use. */
  readonly #byKey = new ChurnMap<string, CountedBytes>();

  constructor(clock: Clock, limits: ByteLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Whether none of the key's bytes count any more. */
  allows(keyId: string): boolean {
    return this.#bytesOf(keyId, this.#clock.monotonicMs()) === 0;
  }

  /** Counts bytes that have arrived. False if they exceed the limit. */
  take(keyId: string, bytes: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    const counted = this.#bytesOf(keyId, nowMs) + bytes;
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, { bytes: counted, atMs: nowMs });
    this.#forgetOld(nowMs);
    return counted <= this.#limits.maxBytes;
  }

  /** Counts the bytes and returns 0 if they fit; else returns the seconds until they would. */
  wait(keyId: string, bytes: number): number {
    const seconds = this.secondsUntil(keyId, bytes);
    if (seconds === 0) this.take(keyId, bytes);
    return seconds;
  }

  /** Seconds until this many bytes fit; 0 for now. An amount above the limit fits when nothing else counts. */
  secondsUntil(keyId: string, bytes: number): number {
    const { maxBytes, bytesPerMs } = this.#limits;
    const counted = this.#bytesOf(keyId, this.#clock.monotonicMs());
    return Math.ceil(Math.max(0, Math.min(counted, counted + bytes - maxBytes)) / bytesPerMs / 1000);
  }

  /** How many keys are known. */
  get size(): number {
    return this.#byKey.size;
  }

  #bytesOf(keyId: string, nowMs: number): number {
    const known = this.#byKey.get(keyId);
    return known === undefined
      ? 0
      : Math.max(0, known.bytes - (nowMs - known.atMs) * this.#limits.bytesPerMs);
  }

  #forgetOld(nowMs: number): void {
    const { maxBytes, bytesPerMs } = this.#limits;
    for (const oldest of this.#byKey.keys()) {
      const atMs = this.#byKey.get(oldest)?.atMs ?? 0;
      if (atMs > nowMs - maxBytes / bytesPerMs || this.#bytesOf(oldest, nowMs) > 0) return;
      this.#byKey.delete(oldest);
    }
  }
}

/** The inflated size of a key's compressed frames at once: eight frames of the maximum size. */
const maxBytes = 64 * 1024 * 1024;
/** More than many clients of one key send, and a few percent of the event loop's time. */
const bytesPerMs = (16 * 1024 * 1024) / 1000;

/**
 * Limits what the runtime inflates for a key. It does so on the event loop, before Sluice sees the frame: 8 KB become
 * 8 MiB in some 20 ms, and one read of a connection may bring dozens of such frames.
 */
export class InflateLimiter extends ByteLimiter {
  constructor(clock: Clock) {
    super(clock, { maxBytes, bytesPerMs });
  }
}
