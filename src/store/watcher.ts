import { Repeating } from "../base/loop/repeating.ts";
import type { Changes, Store } from "./store.ts";

export interface WatcherOptions {
  readonly store: Pick<Store, "currentRevision" | "changesSince">;
  /** The revision of the snapshot that memory started from. */
  readonly revision: number;
  readonly apply: (changes: Changes) => void;
  /** Called for the first of several failed polls. No change is lost: the next poll returns it too. */
  readonly onError: (error: unknown) => void;
  /** Null if no other process changes the store: then only `refresh` looks. */
  readonly everyMs: number | null;
}

/**
 * Applies operators' changes to a running gateway: its own process calls `refresh` after each, and polling finds what other
 * gateways changed. Polls run strictly one after the other, so that no entry is applied twice.
 */
export class StoreWatcher {
  readonly #options: WatcherOptions;
  #revision: number;
  #last: Promise<void> = Promise.resolve();
  /** The poll that has not started yet, and so will see every change made until now. */
  #next: Promise<void> | null = null;
  readonly #polling = new Repeating();
  #isFailing = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#revision = options.revision;
  }

  start(): void {
    const { everyMs } = this.#options;
    if (everyMs !== null) this.#polling.start(everyMs, () => this.#poll());
  }

  /**
   * Polls now, so that a change just made is in effect before the caller responds. Callers during a poll share the
   * next one, so at most one poll runs and one waits.
   */
  refresh(): Promise<void> {
    if (this.#next !== null) return this.#next;
    const look = this.#last.then(() => {
      this.#next = null;
      return this.#look();
    });
    this.#next = look;
    this.#last = look.catch(() => {});
    return look;
  }

  async stop(): Promise<void> {
    await this.#polling.stop();
    await this.#last;
  }

  async #poll(): Promise<void> {
    try {
      await this.refresh();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.onError(error);
      this.#isFailing = true;
    }
  }

  async #look(): Promise<void> {
    const { store, apply } = this.#options;
    if ((await store.currentRevision()) === this.#revision) return;
    const changes = await store.changesSince(this.#revision);
    this.#revision = changes.revision;
    apply(changes);
  }
}
