import { closeSync, fdatasync, fdatasyncSync, fstatSync, openSync, statSync } from "node:fs";

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
  /** Usually one. SQLite keeps using the file it opened, even if another one now has its name. */
  readonly #opened: OpenedLog[] = [];
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
   * Like `sync`, for a caller that nothing else on the event loop waits behind. Syncs in place while the disk is
   * fast, which saves the round trip to another thread (60 µs).
   */
  syncAlone(): Promise<void> | void {
    if (this.#running !== null || this.#quick < quickSyncs) return this.sync();
    this.check();
    const startedMs = this.#now();
    try {
      for (const { descriptor } of this.#current()) fdatasyncSync(descriptor);
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
    for (const { descriptor } of this.#opened.splice(0)) closeSync(descriptor);
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
      if (error === null) resolve();
      else reject(this.fail(error));
    };
    try {
      syncEach(this.#current(), 0, end);
    } catch (error) {
      end(error);
    }
    return promise;
  }

  /** The files to sync. A file that has replaced the log is added: whichever file SQLite writes to, it is synced. */
  #current(): readonly OpenedLog[] {
    const found = statSync(this.#file, { throwIfNoEntry: false });
    const newest = this.#opened.at(-1);
    const isKnown = newest !== undefined && (found === undefined || isSame(found, newest));
    if (!isKnown) this.#opened.push(openLog(this.#file));
    return this.#opened;
  }
}

interface OpenedLog {
  readonly descriptor: number;
  readonly dev: number;
  readonly ino: number;
}

function openLog(file: string): OpenedLog {
  const descriptor = openSync(file, "r+");
  const { dev, ino } = fstatSync(descriptor);
  return { descriptor, dev, ino };
}

function isSame(found: Pick<OpenedLog, "dev" | "ino">, opened: OpenedLog): boolean {
  return found.ino === opened.ino && found.dev === opened.dev;
}

function syncEach(logs: readonly OpenedLog[], index: number, end: (error: unknown) => void): void {
  const log = logs[index];
  if (log === undefined) {
    end(null);
    return;
  }
  fdatasync(log.descriptor, (error) => {
    if (error) end(error);
    else syncEach(logs, index + 1, end);
  });
}
