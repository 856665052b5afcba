import type { Clock } from "../base/clock.ts";
import { ChurnMap } from "../base/collections/churn-map.ts";
import type { Store } from "../store/store.ts";

/** What other gateways have kept, and what was deleted, is known after this. */
const readEveryMs = 10_000;

/** The share of what a key may keep that responses for retries can take. Stored responses have the rest. */
const retryShare = 1 / 2;

interface KeptOfKey {
  /** In the database, when it was read or since. */
  stored: number;
  /** Of responses that are still being recorded. */
  recording: number;
  readAtMs: number;
}

/** How many bytes of responses are kept for retries, for each key that sends idempotency keys. */
export class KeptBytes {
  readonly #store: Pick<Store, "retryBytes">;
  readonly #clock: Clock;
  /** Ordered by when each was read. */
  readonly #byKey = new ChurnMap<string, KeptOfKey>();

  constructor(store: Pick<Store, "retryBytes">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** How many keys are known. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Call it before a response of the key is recorded. Resolves at once if the key's bytes were read lately. */
  async read(keyId: string): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#byKey.get(keyId)?.readAtMs ?? Number.NEGATIVE_INFINITY) < readEveryMs) return;
    const stored = await this.#store.retryBytes(keyId);
    const recording = this.#byKey.get(keyId)?.recording ?? 0;
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, { stored, recording, readAtMs: nowMs });
    this.#forgetOld(nowMs);
  }

  /** What is known to be kept for the key. */
  of(keyId: string): number {
    const known = this.#byKey.get(keyId);
    return known === undefined ? 0 : known.stored + known.recording;
  }

  /** Counts bytes of a response that is being recorded. False if the key, which may keep `maxBytes` in all, has no room for them. */
  take(keyId: string, bytes: number, maxBytes: number): boolean {
    if (this.of(keyId) + bytes > maxBytes * retryShare) return false;
    this.#known(keyId).recording += bytes;
    return true;
  }

  /** The bytes that were taken for a response are stored, or given back. */
  end(keyId: string, bytes: number, isStored: boolean): void {
    const known = this.#known(keyId);
    known.recording -= bytes;
    if (isStored) known.stored += bytes;
  }

  #known(keyId: string): KeptOfKey {
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
      // Its bytes are still counted, and forgotten by a later call.
      if (recording > 0) continue;
      this.#byKey.delete(keyId);
    }
  }
}
