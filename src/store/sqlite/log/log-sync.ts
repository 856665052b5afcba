import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";

/** The event loop waits for the disk only after this many quick syncs in a row, so that a slow disk blocks it once. */
const quickMs = 1;
const quickSyncs = 16;

/**
 * Makes commits durable. SQLite writes them to its log and does not wait for the disk (`synchronous = NORMAL`). This syncs the
 * log, on a thread of the runtime's pool. One sync at a time: all that is committed while it runs share the next.
 *
 * A failed sync is final: the system may have dropped what it could not write, and would report success the next time. Nothing
 * since the last good sync can be trusted until another process has recovered the log (see `failed-sync.ts`).
 */
export class LogSync {
  readonly #file: string;
  readonly #onFailure: () => void;
  readonly #now: () => number;
  /**
   * The log that SQLite has open. While it does, no other process can be the last to close the database, which would remove the
   * log. If the file is replaced by hand, SQLite keeps using the one it opened, and so does this (see `open-files.ts`).
   */
  #descriptor: number | null = null;
  #running: Promise<void> | null = null;
  /** Starts when the running one has ended. */
  #next: Promise<void> | null = null;
  #failure: Error | null = null;
  /** Quick syncs since the last slow one. */
  #quick = 0;

  constructor(
    databaseFile: string,
    onFailure: () => void = () => {},
    now: () => number = () => performance.now(),
  ) {
    this.#file = `${databaseFile}-wal`;
    this.#onFailure = onFailure;
    this.#now = now;
  }

  get failure(): Error | null {
    return this.#failure;
  }

  /** Nothing more may be committed after a failed sync. */
  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Resolves when everything committed before this call is durable: after a sync that started after the call. */
  sync(): Promise<void> {
    if (this.#next !== null) return this.#next;
    if (this.#running === null) return this.#begin();
    const begin = () => {
      this.#next = null;
      return this.#begin();
    };
    this.#next = this.#running.then(begin, begin);
    return this.#next;
  }

  /**
   * Like `sync`, for a caller that nothing else on the event loop waits for. Syncs in place while the disk is fast,
   * which saves the round trip to another thread (60 µs).
   */
  syncAlone(): Promise<void> | void {
    if (this.#running !== null || this.#quick < quickSyncs) return this.sync();
    this.check();
    const startedMs = this.#now();
    try {
      fdatasyncSync(this.#open());
    } catch (error) {
      throw this.fail(error);
    }
    this.#note(startedMs);
  }

  /** For other code that has found that the log cannot be synced. */
  fail(cause: unknown): Error {
    if (this.#failure === null) {
      this.#failure = new Error(`The disk failed to sync ${this.#file}: ${String(cause)}`);
      this.#onFailure();
    }
    return this.#failure;
  }

  async close(): Promise<void> {
    await this.#next?.catch(() => {});
    await this.#running?.catch(() => {});
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #note(startedMs: number): void {
    this.#quick = this.#now() - startedMs < quickMs ? this.#quick + 1 : 0;
  }

  #begin(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#running = promise;
    const startedMs = this.#now();
    const end = (error: unknown) => {
      this.#running = null;
      this.#note(startedMs);
      if (error == null) resolve();
      else reject(this.fail(error));
    };
    try {
      fdatasync(this.#open(), end);
    } catch (error) {
      end(error);
    }
    return promise;
  }

  #open(): number {
    this.#descriptor ??= openSync(this.#file, "r+");
    return this.#descriptor;
  }
}
