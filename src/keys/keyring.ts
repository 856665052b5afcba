import type { Clock } from "../base/clock.ts";
import type { Changes, KeyRecord } from "../store/store.ts";
import { looksLikeKey } from "./form.ts";
import { hashSecret } from "./hash.ts";

/** All keys in memory, found by the hash of the presented secret without a query to the store. */
export class KeyRing {
  readonly #clock: Clock;
  readonly #byHash = new Map<string, KeyRecord>();
  readonly #byId = new Map<string, KeyRecord>();

  constructor(clock: Clock, keys: readonly KeyRecord[]) {
    this.#clock = clock;
    for (const key of keys) this.#put(key);
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Null for anything but a valid secret of a key. The caller has to check the key's status. */
  find(presented: string): KeyRecord | null {
    // The checksum is not needed here: known secrets have a valid one, and callers check it for unknown ones.
    if (!looksLikeKey(presented)) return null;
    const hash = hashSecret(presented);
    const key = this.#byHash.get(hash);
    if (key === undefined) return null;
    if (key.hash === hash) return key;
    const graceIsOver = key.previousUntilMs === null || key.previousUntilMs <= this.#clock.wallMs();
    return graceIsOver ? null : key;
  }

  byId(keyId: string): KeyRecord | null {
    return this.#byId.get(keyId) ?? null;
  }

  all(): Iterable<KeyRecord> {
    return this.#byId.values();
  }

  apply(changes: Pick<Changes, "keys">): void {
    for (const key of changes.keys) {
      const before = this.#byId.get(key.id);
      if (before !== undefined) this.#forget(before);
      this.#put(key);
    }
  }

  #put(key: KeyRecord): void {
    this.#byId.set(key.id, key);
    this.#byHash.set(key.hash, key);
    if (key.previousHash !== null) this.#byHash.set(key.previousHash, key);
  }

  #forget(key: KeyRecord): void {
    this.#byHash.delete(key.hash);
    if (key.previousHash !== null) this.#byHash.delete(key.previousHash);
  }
}
