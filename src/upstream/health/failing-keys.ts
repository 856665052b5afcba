import { SlidingWindow } from "./sliding-window.ts";

/** Two failing keys are proof enough, so more need not be recorded. */
const maxKeys = 16;

export interface FailingKey {
  readonly keyId: string | null;
  readonly calls: number;
  readonly failures: number;
}

const noKey: FailingKey = { keyId: null, calls: 0, failures: 0 };

/**
 * Recent failures at one deployment by client key. One client can make a provider fail at will, with a request that
 * the provider cannot handle; that says nothing about the requests of others.
 */
export class FailingKeys {
  readonly #spanMs: number;
  readonly #windows = new Map<string, SlidingWindow>();

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  /** Answers are counted only for keys that have failed, so this does nothing while the provider is healthy. */
  answered(keyId: string, nowMs: number): void {
    if (this.#windows.size > 0) this.#windows.get(keyId)?.add(nowMs, false);
  }

  failed(keyId: string, nowMs: number): void {
    this.#windowOf(keyId, nowMs)?.add(nowMs, true);
  }

  /** The answer has been counted by `answered`. */
  brokeOff(keyId: string, nowMs: number): void {
    const known = this.#windows.get(keyId);
    if (known === undefined) this.failed(keyId, nowMs);
    else known.mark(nowMs);
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
