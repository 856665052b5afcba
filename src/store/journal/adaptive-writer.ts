import type { JournalItem } from "../records.ts";
import type { BatchWriter, TimedWriter } from "./batch-writer.ts";
import { type Driver, DriverChoice } from "./driver-choice.ts";

export interface AdaptiveOptions {
  readonly inline: TimedWriter;
  /** May fail, e.g. for lack of memory. The current writer is kept then. */
  readonly openThread: () => Promise<TimedWriter>;
  readonly choice?: DriverChoice;
  readonly onChange: (driver: Driver) => void;
}

/**
 * Writes inline while the disk is fast, which is cheapest, and on a separate thread while it is slow, so that streams
 * do not wait for the disk. It switches between two batches; the journal sends one at a time, so their order is kept.
 * Before a switch the old writer flushes its usage sums.
 */
export class AdaptiveWriter implements BatchWriter {
  readonly #options: AdaptiveOptions;
  readonly #choice: DriverChoice;
  #thread: TimedWriter | null = null;

  constructor(options: AdaptiveOptions) {
    this.#options = options;
    this.#choice = options.choice ?? new DriverChoice("inline");
  }

  write(items: readonly JournalItem[], rollUp: boolean): Promise<void> | void {
    const current = this.#thread ?? this.#options.inline;
    if (this.#choice.driver !== this.#driver) return this.#changeAndWrite(items, rollUp);
    const writing = current.write(items, rollUp);
    if (writing === undefined) this.#observe(current, items);
    else return writing.then(() => this.#observe(current, items));
  }

  async close(): Promise<void> {
    await this.#thread?.close();
    await this.#options.inline.close();
  }

  get #driver(): Driver {
    return this.#thread === null ? "inline" : "thread";
  }

  /** Empty batches do not touch the disk and say nothing about it. */
  #observe({ lastCommitMs }: TimedWriter, items: readonly JournalItem[]): void {
    if (items.length > 0) this.#choice.observe(lastCommitMs);
  }

  async #changeAndWrite(items: readonly JournalItem[], rollUp: boolean): Promise<void> {
    const before = this.#driver;
    try {
      await (this.#thread === null ? this.#changeToThread() : this.#changeToInline(this.#thread));
    } catch {
      // Keep the current writer. Further slow or fast commits will request the switch again.
    }
    if (this.#driver !== before) this.#options.onChange(this.#driver);
    this.#choice.decide(this.#driver);
    await this.write(items, rollUp);
  }

  async #changeToThread(): Promise<void> {
    const thread = await this.#options.openThread();
    try {
      await this.#options.inline.write([], true);
    } catch (error) {
      await thread.close();
      throw error;
    }
    this.#thread = thread;
  }

  async #changeToInline(thread: TimedWriter): Promise<void> {
    await thread.write([], true);
    this.#thread = null;
    await thread.close();
  }
}
