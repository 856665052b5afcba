import { msPerDay } from "../../base/clock.ts";

const rejectedPauseMs = 300_000;
const maxPauseMs = 600_000;

interface PooledKey<Key> {
  readonly key: Key;
  pausedUntilMs: number;
}

/** A provider's credentials, used in turn. One that was rejected or throttled is paused for a while. */
export class KeyPool<Key extends { readonly id: string }> {
  readonly #keys: readonly PooledKey<Key>[];
  #next = 0;

  constructor(keys: readonly Key[]) {
    this.#keys = keys.map((key) => ({ key, pausedUntilMs: 0 }));
  }

  /**
   * Whether the pool has the key of this id. True for any pool of one: its key may have been renewed, and still belong to the
   * same account.
   */
  has(id: string): boolean {
    return this.#keys.length === 1 || this.#keys.some(({ key }) => key.id === id);
  }

  /**
   * Null if the provider needs no key. If all are paused, the one whose pause ends first is used. `only` is the id of the
   * one that has to be used.
   */
  pick(nowMs: number, only: string | null = null): Key | null {
    if (only !== null && this.#keys.length > 1) {
      return this.#keys.find(({ key }) => key.id === only)?.key ?? null;
    }
    const count = this.#keys.length;
    let soonest = this.#keys[0];
    if (soonest === undefined || count === 1) return soonest?.key ?? null;
    for (let step = 0; step < count; step += 1) {
      const pooled = this.#keys[(this.#next + step) % count];
      if (pooled === undefined) continue;
      if (pooled.pausedUntilMs <= nowMs) {
        this.#next = (this.#next + step + 1) % count;
        return pooled.key;
      }
      if (pooled.pausedUntilMs < soonest.pausedUntilMs) soonest = pooled;
    }
    return soonest.key;
  }

  /** The provider does not accept the key. Returns true if another one is ready. */
  rejected(key: Key | null, nowMs: number): boolean {
    return this.#pause(key, nowMs, rejectedPauseMs);
  }

  /** The provider limits the key's rate. Returns true if another one is ready. */
  throttled(key: Key | null, nowMs: number, pauseMs: number): boolean {
    return this.#pause(key, nowMs, Math.min(pauseMs, maxPauseMs));
  }

  /** The key's quota is used up. Returns true if another one is ready. */
  exhausted(key: Key | null, nowMs: number, resetMs: number): boolean {
    return this.#pause(key, nowMs, Math.min(resetMs, msPerDay));
  }

  get size(): number {
    return this.#keys.length;
  }

  ready(nowMs: number): number {
    return this.#keys.filter((key) => key.pausedUntilMs <= nowMs).length;
  }

  /** How long until one of the keys is ready; 0 if one is. */
  readyInMs(nowMs: number): number {
    return Math.max(0, Math.min(...this.#keys.map((key) => key.pausedUntilMs)) - nowMs);
  }

  #pause(key: Key | null, nowMs: number, pauseMs: number): boolean {
    const pooled = this.#keys.find((each) => each.key === key);
    if (pooled !== undefined) pooled.pausedUntilMs = Math.max(pooled.pausedUntilMs, nowMs + pauseMs);
    return this.ready(nowMs) > 0;
  }
}
