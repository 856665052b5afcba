import { BatchFailure, type BatchWriter } from "../../src/store/journal/batch-writer.ts";
import type { JournalItem } from "../../src/store/store.ts";

/**
 * Stands between the journal and the disk, and breaks when told to. It does not wait for the sync of a commit: the database is in memory, and
 * a history that waited for real time would be another one each time.
 */
export class FaultyWriter implements BatchWriter {
  readonly #inner: BatchWriter;
  #mode: "works" | "locked" | "dies before" | "dies after" | "dead" = "works";

  constructor(inner: BatchWriter) {
    this.#inner = inner;
  }

  /** As while another process has the database locked. */
  lock(): void {
    if (this.#mode === "works") this.#mode = "locked";
  }

  unlock(): void {
    if (this.#mode === "locked") this.#mode = "works";
  }

  /** The process dies at its next batch, just before or just after that is on disk. */
  dieAt(moment: "before" | "after"): void {
    this.#mode = `dies ${moment}`;
  }

  write(items: readonly JournalItem[]): void {
    if (this.#mode === "locked") throw new BatchFailure("busy", "database is locked");
    if (this.#mode === "works") {
      void this.#inner.write(items);
      return;
    }
    const reachesDisk = this.#mode === "dies after";
    this.#mode = "dead";
    if (reachesDisk) void this.#inner.write(items);
    throw new Error("the process is dead");
  }
}
