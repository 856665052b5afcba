const windowMs = 1_000;
const maxPerKey = 50;
const maxInAll = 1_000;

/** Limits recorded rejections per key and second, like the request log: a client in a loop can be rejected ten thousand times a second. */
export class RejectionLimit {
  readonly #seen = new Map<string, number>();
  #inAll = 0;
  #windowEndsMs = 0;

  takes(keyId: string, nowMs = performance.now()): boolean {
    if (nowMs >= this.#windowEndsMs) {
      this.#windowEndsMs = nowMs + windowMs;
      this.#seen.clear();
      this.#inAll = 0;
    }
    const seen = this.#seen.get(keyId) ?? 0;
    if (seen >= maxPerKey || this.#inAll >= maxInAll) return false;
    this.#seen.set(keyId, seen + 1);
    this.#inAll += 1;
    return true;
  }
}
