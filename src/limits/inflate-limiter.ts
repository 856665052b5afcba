import { ChurnMap } from "../base/churn-map.ts";
import type { Clock } from "../base/clock.ts";

/** What a key's compressed frames may become at once. The largest frame fits eight times. */
const mostBytes = 64 * 1024 * 1024;
/** What of it comes back: more than many clients of one key send, and a few hundredths of the event loop's time. */
const bytesPerMs = (16 * 1024 * 1024) / 1000;
/** All has come back long before. */
const forgottenMs = 60_000;

interface Inflated {
  readonly bytes: number;
  readonly atMs: number;
}

/**
 * Limits what the runtime inflates for a key. It does so on the event loop, before anybody can look: 8 KB become 8 MiB there, in
 * some 20 ms, and a single read of a connection may bring dozens of such frames.
 */
export class InflateLimiter {
  readonly #clock: Clock;
  /** Of keys that have sent compressed frames, ordered by each key's latest. */
  readonly #byKey = new ChurnMap<string, Inflated>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a new socket of the key may compress: not before all has come back. */
  allows(keyId: string): boolean {
    return this.#bytesOf(keyId, this.#clock.monotonicMs()) === 0;
  }

  /** Counts a frame that has come. False if it was too much. */
  take(keyId: string, frameBytes: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bytes = this.#bytesOf(keyId, nowMs) + frameBytes;
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, { bytes, atMs: nowMs });
    this.#forgetOld(nowMs);
    return bytes <= mostBytes;
  }

  /** How many keys are known. */
  get size(): number {
    return this.#byKey.size;
  }

  #bytesOf(keyId: string, nowMs: number): number {
    const known = this.#byKey.get(keyId);
    return known === undefined ? 0 : Math.max(0, known.bytes - (nowMs - known.atMs) * bytesPerMs);
  }

  #forgetOld(nowMs: number): void {
    for (const oldest of this.#byKey.keys()) {
      if ((this.#byKey.get(oldest)?.atMs ?? 0) > nowMs - forgottenMs) return;
      this.#byKey.delete(oldest);
    }
  }
}
