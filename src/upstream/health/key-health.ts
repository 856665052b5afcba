import { msPerDay } from "../../base/clock.ts";
import { rankOf } from "../selection/rendezvous.ts";
import { SlidingWindow } from "./recent-calls.ts";

/** A provider that requests a cooldown of hours is tried again after ten minutes. */
const maxCoolDownMs = 600_000;

interface CoolDown {
  readonly untilMs: number;
  /** The end that the provider requested, without the maximum. */
  readonly requestedUntilMs: number;
}

const noCoolDown: CoolDown = { untilMs: 0, requestedUntilMs: 0 };

/**
 * The cooldowns that a provider requested (Retry-After), by client key. A key waits for the end of its own. All keys
 * wait while two keys or more have one: a single client can get itself throttled, which is not evidence about the
 * others.
 */
export class CoolDowns {
  /** Ended cooldowns are removed when the next one begins. */
  readonly #byKey = new Map<string, CoolDown>();
  /** The one with the second-latest end. */
  #shared = noCoolDown;
  #lastEndMs = 0;

  begin(nowMs: number, durationMs: number, keyId: string): void {
    for (const [key, { untilMs }] of this.#byKey) if (untilMs <= nowMs) this.#byKey.delete(key);
    const requested = {
      untilMs: nowMs + Math.min(durationMs, maxCoolDownMs),
      requestedUntilMs: nowMs + durationMs,
    };
    this.#byKey.set(keyId, laterOf(requested, this.#byKey.get(keyId) ?? noCoolDown));
    const [last = noCoolDown, lastButOne = noCoolDown] = [...this.#byKey.values()].sort(
      (a, b) => b.untilMs - a.untilMs,
    );
    this.#shared = lastButOne;
    this.#lastEndMs = last.untilMs;
  }

  /** The remaining cooldown of a key, ten minutes at most; 0 if it need not wait. */
  leftMs(nowMs: number, keyId: string): number {
    return this.#lastEndMs <= nowMs ? 0 : Math.max(0, this.#of(keyId).untilMs - nowMs);
  }

  /** The remaining pause of a key as the provider requested it, without the maximum. */
  requestedMs(nowMs: number, keyId: string): number {
    return Math.max(0, this.#of(keyId).requestedUntilMs - nowMs);
  }

  /** Time until no key has to wait. */
  maxMs(nowMs: number): number {
    return Math.max(0, this.#lastEndMs - nowMs);
  }

  #of(keyId: string): CoolDown {
    return laterOf(this.#byKey.get(keyId) ?? noCoolDown, this.#shared);
  }
}

function laterOf(one: CoolDown, other: CoolDown): CoolDown {
  return one.untilMs > other.untilMs ? one : other;
}

/** Two failing keys are proof enough, so more need not be recorded. */
const maxKeys = 16;

interface FailingKey {
  readonly keyId: string | null;
  readonly calls: number;
  readonly failures: number;
}

const noKey: FailingKey = { keyId: null, calls: 0, failures: 0 };

/**
 * Recent failures at one deployment by client key. One client can make a provider fail at will, with a request that the
 * provider cannot handle, which is not evidence about the requests of others.
 */
export class FailingKeys {
  readonly #spanMs: number;
  readonly #windows = new Map<string, SlidingWindow>();

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  /** Successful calls are counted only for keys that have failed, so this does nothing while the provider is healthy. */
  answered(keyId: string, nowMs: number): void {
    if (this.#windows.size > 0) this.#windows.get(keyId)?.add(nowMs, false);
  }

  failed(keyId: string, nowMs: number): void {
    this.#windowOf(keyId, nowMs)?.add(nowMs, true);
  }

  /** The response has been counted by `answered`. */
  brokeOff(keyId: string, nowMs: number): void {
    const window = this.#windows.get(keyId);
    if (window === undefined) this.failed(keyId, nowMs);
    else window.mark(nowMs);
  }

  /** The key that has failed most. */
  worst(nowMs: number): FailingKey {
    let worst = noKey;
    for (const [keyId, window] of this.#windows) {
      const failures = window.marked(nowMs);
      if (failures > worst.failures) worst = { keyId, calls: window.all(nowMs), failures };
    }
    return worst;
  }

  clear(): void {
    this.#windows.clear();
  }

  #windowOf(keyId: string, nowMs: number): SlidingWindow | undefined {
    const known = this.#windows.get(keyId);
    if (known !== undefined) return known;
    for (const [key, window] of this.#windows) if (window.marked(nowMs) === 0) this.#windows.delete(key);
    if (this.#windows.size >= maxKeys) return undefined;
    const window = new SlidingWindow(this.#spanMs);
    this.#windows.set(keyId, window);
    return window;
  }
}

const rejectedPauseMs = 300_000;
const maxPauseMs = 600_000;

interface PooledKey<Key> {
  readonly key: Key;
  pausedUntilMs: number;
}

/** The parameters that determine which of several credentials a request uses. */
interface KeyChoice {
  /** The id of the credential to use. */
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

  /** Time until one of the keys is ready; 0 if one is. */
  readyInMs(nowMs: number): number {
    return Math.max(0, Math.min(...this.#keys.map((key) => key.pausedUntilMs)) - nowMs);
  }

  #pause(key: Key | null, nowMs: number, pauseMs: number): boolean {
    const pooled = this.#keys.find((each) => each.key === key);
    if (pooled !== undefined) pooled.pausedUntilMs = Math.max(pooled.pausedUntilMs, nowMs + pauseMs);
    return this.ready(nowMs) > 0;
  }
}
