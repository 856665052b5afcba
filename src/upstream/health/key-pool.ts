const rejectedPauseMs = 300_000;
const maxPauseMs = 600_000;

interface PooledKey {
  readonly secret: string;
  pausedUntilMs: number;
}

/** A provider's API keys, used in turn. A key that was rejected or throttled is paused for a while. */
export class KeyPool {
  readonly #keys: readonly PooledKey[];
  #next = 0;

  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map((secret) => ({ secret, pausedUntilMs: 0 }));
  }

  /** Null if the provider needs no key. If all are paused, the one whose pause ends first is used. */
  pick(nowMs: number): string | null {
    const count = this.#keys.length;
    let soonest = this.#keys[0];
    if (soonest === undefined || count === 1) return soonest?.secret ?? null;
    for (let step = 0; step < count; step += 1) {
      const key = this.#keys[(this.#next + step) % count];
      if (key === undefined) continue;
      if (key.pausedUntilMs <= nowMs) {
        this.#next = (this.#next + step + 1) % count;
        return key.secret;
      }
      if (key.pausedUntilMs < soonest.pausedUntilMs) soonest = key;
    }
    return soonest.secret;
  }

  /** The provider does not accept the key. Returns true if another one is ready. */
  rejected(secret: string | null, nowMs: number): boolean {
    return this.#pause(secret, nowMs, rejectedPauseMs);
  }

  /** The provider limits the key's rate. Returns true if another one is ready. */
  throttled(secret: string | null, nowMs: number, pauseMs: number): boolean {
    return this.#pause(secret, nowMs, Math.min(pauseMs, maxPauseMs));
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

  #pause(secret: string | null, nowMs: number, pauseMs: number): boolean {
    const key = this.#keys.find((each) => each.secret === secret);
    if (key !== undefined) key.pausedUntilMs = Math.max(key.pausedUntilMs, nowMs + pauseMs);
    return this.ready(nowMs) > 0;
  }
}
