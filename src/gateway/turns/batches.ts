import { SerialWork } from "../../base/collections/serial-work.ts";
import { nextLoopIteration } from "../../base/loop/pacer.ts";
import type { Store } from "../../store/store.ts";

/** Long responses take a few milliseconds each. */
const resultsAtOnce = 50;
const linesAtOnce = 500;

interface BatchesOptions {
  readonly store: Pick<Store, "uploads" | "batches" | "providerBatches" | "reports">;
  /** This process, among those that use the store. It changes if another one has taken it for dead. */
  node(): number;
}

/** What became of lines since the start. */
export interface LineCounts {
  completed: number;
  failed: number;
  /** Lines of processes that ended while they ran them: these run again. */
  interrupted: number;
  /** Results of providers that belong to no line. */
  unknown: number;
}

/** Files and batches, whichever process runs them. */
export class Batches {
  readonly store: BatchesOptions["store"];
  readonly counts: LineCounts = { completed: 0, failed: 0, interrupted: 0, unknown: 0 };
  /** The ids of batches that this process validates now. */
  readonly validating = new Set<string>();
  /** A key validates one input at a time. */
  readonly validations = new SerialWork();
  readonly #node: () => number;
  #onWake: () => void = () => {};

  constructor({ store, node }: BatchesOptions) {
    this.store = store;
    this.#node = node;
  }

  get node(): number {
    return this.#node();
  }

  /** `onWake` looks what there is to do. */
  attach(onWake: () => void): void {
    this.#onWake = onWake;
  }

  /** There may be something to do: a batch, credit, a key that is active again. */
  wake(): void {
    this.#onWake();
  }

  /** From now on none of its lines starts. Those that run are charged. */
  async cancel(keyId: string, id: string, nowMs: number): Promise<void> {
    await this.store.batches.cancel(keyId, id, nowMs);
    this.wake();
  }

  async deleteResults(
    batchId: string,
    kind: "output" | "errors",
    atOnce: number = resultsAtOnce,
  ): Promise<void> {
    const { batches } = this.store;
    let last: number | null = -1;
    while (last !== null) {
      last = await batches.deleteResults(batchId, kind, last, atOnce);
      await nextLoopIteration();
    }
    this.wake();
  }

  /** Deletes the lines of a batch that has not begun. */
  async deleteLines(batchId: string): Promise<void> {
    await this.deleteResults(batchId, "errors", linesAtOnce);
  }

  /** Deletes a batch with its results. It has ended, or has not begun. */
  async delete(keyId: string, id: string): Promise<void> {
    await this.deleteResults(id, "output");
    await this.deleteResults(id, "errors");
    await this.store.batches.delete(keyId, id);
  }

  /** Deletes those whose process has stopped before they began. No client knows of them. */
  async deleteAbandoned(): Promise<void> {
    const { batches } = this.store;
    const found = await batches.abandoned(this.node, [...this.validating]);
    for (const { keyId, id } of found) if (!this.validating.has(id)) await this.delete(keyId, id);
  }

  async prune(nowMs: number): Promise<void> {
    await this.deleteAbandoned();
    for (const { keyId, id } of await this.store.batches.outdated(nowMs)) await this.delete(keyId, id);
    for (const { keyId, id, batchId, kind } of await this.store.uploads.expiredResults(nowMs)) {
      if (batchId !== null) await this.deleteResults(batchId, kind === "output" ? "output" : "errors");
      await this.store.uploads.delete(keyId, id);
    }
    while ((await this.store.uploads.prune(nowMs)) > 0) await nextLoopIteration();
  }
}
