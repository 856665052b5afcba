import type { Clock } from "../base/clock.ts";
import { ChurnMap } from "../base/collections/churn-map.ts";
import type { Store } from "../store/store.ts";

/** Interval for reading again what other gateways stored and what was deleted. */
const readEveryMs = 10_000;

/** The share of a key's storage allowance for retries. Stored responses have the rest. */
const retryShare = 1 / 2;

interface StoredBytesOfKey {
  /** Bytes in the database: as last read, plus what was stored since. */
  stored: number;
  /** Bytes of responses that are still being recorded. */
  recording: number;
  readAtMs: number;
}

/** Counts the bytes stored for retries, for each key that sends idempotency keys. */
export class StoredBytes {
  readonly #store: Pick<Store, "retryBytes">;
  readonly #clock: Clock;
  /** Ordered by the time of the last read. */
  readonly #byKey = new ChurnMap<string, StoredBytesOfKey>();

  constructor(store: Pick<Store, "retryBytes">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Number of known keys. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Call it before recording a response. Resolves at once if the key's bytes were read recently. */
  async read(keyId: string): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#byKey.get(keyId)?.readAtMs ?? Number.NEGATIVE_INFINITY) < readEveryMs) return;
    const stored = await this.#store.retryBytes(keyId);
    const recording = this.#byKey.get(keyId)?.recording ?? 0;
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, { stored, recording, readAtMs: nowMs });
    this.#forgetOld(nowMs);
  }

  /** Bytes known to be stored for the key. */
  of(keyId: string): number {
    const known = this.#byKey.get(keyId);
    return known === undefined ? 0 : known.stored + known.recording;
  }

  /** Counts bytes of a response being recorded. False if they exceed the key's share of `maxBytes`, its whole allowance. */
  take(keyId: string, bytes: number, maxBytes: number): boolean {
    if (this.of(keyId) + bytes > maxBytes * retryShare) return false;
    this.#known(keyId).recording += bytes;
    return true;
  }

  /** Ends the recording: its bytes are now stored, or free again. */
  end(keyId: string, bytes: number, isStored: boolean): void {
    const known = this.#known(keyId);
    known.recording -= bytes;
    if (isStored) known.stored += bytes;
  }

  #known(keyId: string): StoredBytesOfKey {
    return this.#byKey.getOrInsertComputed(keyId, () => ({
      stored: 0,
      recording: 0,
      readAtMs: Number.NEGATIVE_INFINITY,
    }));
  }

  #forgetOld(nowMs: number): void {
    for (const keyId of this.#byKey.keys()) {
      const { recording = 0, readAtMs = nowMs } = this.#byKey.get(keyId) ?? {};
      if (nowMs - readAtMs < readEveryMs) return;
      // Still recording; a later call removes it.
      if (recording > 0) continue;
      this.#byKey.delete(keyId);
    }
  }
}
