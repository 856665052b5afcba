import { msPerDay } from "../../base/clock.ts";
import { rankOf } from "../selection/rendezvous.ts";

const rejectedPauseMs = 300_000;
const maxPauseMs = 600_000;

interface PooledKey<Key> {
  readonly key: Key;
  pausedUntilMs: number;
}

/** What decides which of several credentials a request uses. */
export interface KeyChoice {
  /** The id of the one that has to be used. */
  readonly credential: string | null;
  /** Requests of one conversation use the same credential while it is not paused. */
  readonly conversation: number | null;
}

/** A provider's credentials: one for each conversation, or used in turn. One that was rejected or throttled is paused for a while. */
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

  /** Null if the provider needs no key. If all are paused, the one whose pause ends first is used. */
  pick(nowMs: number, choice: KeyChoice): Key | null {
    const [first] = this.#keys;
    if (first === undefined || this.#keys.length === 1) return first?.key ?? null;
    const { credential } = choice;
    if (credential !== null) return this.#keys.find(({ key }) => key.id === credential)?.key ?? null;
    const { conversation } = choice;
    const ranked = this.#keys.map(({ key, pausedUntilMs }, index) => ({
      key,
      index,
      waitMs: Math.max(0, pausedUntilMs - nowMs),
      rank: conversation === null ? this.#turnsUntil(index) : rankOf(key.id, 1, conversation),
    }));
    const picked = ranked.reduce((best, next) =>
      (next.waitMs - best.waitMs || next.rank - best.rank) < 0 ? next : best,
    );
    this.#next = picked.index + 1;
    return picked.key;
  }

  #turnsUntil(index: number): number {
    return (index - this.#next + this.#keys.length) % this.#keys.length;
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
