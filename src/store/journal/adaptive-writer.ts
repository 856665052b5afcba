import type { JournalItem } from "../records.ts";
import type { BatchWriter, TimedWriter } from "./batch-writer.ts";
import { type Driver, DriverChoice } from "./driver-choice.ts";

export interface AdaptiveOptions {
  readonly inline: TimedWriter;
  /** May fail, e.g. where there is no memory for a thread; then everything stays as it is. */
  readonly openThread: () => Promise<TimedWriter>;
  readonly choice?: DriverChoice;
  readonly onChange: (driver: Driver) => void;
}

/**
 * Writes inline while the disk is quick, which is cheapest, and in a thread of its own while it is slow, so that the
 * streams do not wait for the disk. It changes over between two batches; the journal sends one at a time, so their
 * order stays. Before a change the old writer writes the usage sums it still has.
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

  /** An empty batch touches no disk. */
  #observe({ lastCommitMs }: TimedWriter, items: readonly JournalItem[]): void {
    if (items.length > 0) this.#choice.observe(lastCommitMs);
  }

  async #changeAndWrite(items: readonly JournalItem[], rollUp: boolean): Promise<void> {
    const before = this.#driver;
    try {
      await (this.#thread === null ? this.#changeToThread() : this.#changeToInline(this.#thread));
    } catch {
      // The writer that has worked so far goes on; the next slow or quick commits ask for the change again.
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
