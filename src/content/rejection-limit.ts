interface Window {
  readonly forMs: number;
  readonly maxPerKey: number;
  readonly maxInAll: number;
}

/** Requests, like the request log. */
const requests: Window = { forMs: 1_000, maxPerKey: 50, maxInAll: 1_000 };
const bytes: Window = { forMs: 60_000, maxPerKey: 4_000_000, maxInAll: 40_000_000 };

/** Limits what is recorded of rejections, which cost nothing: a client in a loop can be rejected ten thousand times a second. */
export class RejectionLimit {
  readonly #requests = new WindowSums(requests);
  readonly #bytes = new WindowSums(bytes);

  takes(keyId: string, size: number, nowMs = performance.now()): boolean {
    if (!this.#requests.hasRoom(keyId, 1, nowMs) || !this.#bytes.hasRoom(keyId, size, nowMs)) return false;
    this.#requests.add(keyId, 1);
    this.#bytes.add(keyId, size);
    return true;
  }
}

/** A key's use in the current window. */
class WindowSums {
  readonly #window: Window;
  readonly #taken = new Map<string, number>();
  #inAll = 0;
  #endsMs = 0;

  constructor(window: Window) {
    this.#window = window;
  }

  hasRoom(keyId: string, amount: number, nowMs: number): boolean {
    const { forMs, maxPerKey, maxInAll } = this.#window;
    if (nowMs >= this.#endsMs) {
      this.#endsMs = nowMs + forMs;
      this.#taken.clear();
      this.#inAll = 0;
    }
    const taken = this.#taken.get(keyId) ?? 0;
    // One is always recorded, however large it is.
    return (taken === 0 || taken + amount <= maxPerKey) && this.#inAll + amount <= maxInAll;
  }

  add(keyId: string, amount: number): void {
    this.#taken.set(keyId, (this.#taken.get(keyId) ?? 0) + amount);
    this.#inAll += amount;
  }
}
