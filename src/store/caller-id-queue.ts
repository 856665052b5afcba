import type { CallerId } from "./records.ts";
import type { Store } from "./store.ts";

const flushEveryMs = 25;
const maxPerWrite = 100;
/** Queue limit while the disk is slow. Requests beyond it cannot be looked up by the client's own id. */
const maxWaiting = 5_000;
const timeoutMs = 250;

/** Writes the clients' own request ids to the store in batches, without delaying charges. */
export class CallerIdQueue {
  readonly #store: Pick<Store, "recordCallerIds">;
  #waiting: CallerId[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;
  #writing: Promise<void> | null = null;

  constructor(store: Pick<Store, "recordCallerIds">) {
    this.#store = store;
  }

  take(callerId: CallerId): void {
    if (this.#waiting.length >= maxWaiting) return;
    this.#waiting.push(callerId);
    this.#timer ??= setTimeout(() => void this.#flush(), flushEveryMs);
  }

  /** Call before a lookup and at the end. Gives up after a moment, so that a store that cannot write does not block reads. */
  async flush(): Promise<void> {
    if (this.#waiting.length === 0 && this.#writing === null) return;
    await Promise.race([this.#flush(), Bun.sleep(timeoutMs)]);
  }

  #flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      // The store reports why it cannot write.
      await this.#store.recordCallerIds(this.#waiting.splice(0, maxPerWrite)).catch(() => {});
    }
  }
}
