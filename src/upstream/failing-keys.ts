import { SlidingWindow } from "./window.ts";

/** More than two failing keys prove the point, so the others need not be remembered. */
const mostKeys = 16;

export interface FailingKey {
  readonly keyId: string | null;
  readonly calls: number;
  readonly failures: number;
}

const nobody: FailingKey = { keyId: null, calls: 0, failures: 0 };

/**
 * Which clients' keys have failed lately at one deployment, and how often. One client can make a provider fail
 * at will, with a request that it cannot digest; that says nothing about the requests of others.
 */
export class FailingKeys {
  readonly #spanMs: number;
  readonly #windows = new Map<string, SlidingWindow>();

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  /** Good answers matter only for keys that have failed, so with a healthy provider this does nothing. */
  answered(keyId: string, nowMs: number): void {
    if (this.#windows.size > 0) this.#windows.get(keyId)?.add(nowMs, false);
  }

  failed(keyId: string, nowMs: number): void {
    this.#windowOf(keyId, nowMs)?.add(nowMs, true);
  }

  /** The answer had begun well, and is counted as such. */
  brokeOff(keyId: string, nowMs: number): void {
    const known = this.#windows.get(keyId);
    if (known === undefined) this.failed(keyId, nowMs);
    else known.mark(nowMs);
  }

  /** The key that has failed most. */
  worst(nowMs: number): FailingKey {
    let worst = nobody;
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
    if (this.#windows.size >= mostKeys) return undefined;
    const window = new SlidingWindow(this.#spanMs);
    this.#windows.set(keyId, window);
    return window;
  }
}
