import type { NodeSettings } from "../../node.ts";
import type { HoldEnd, SettleItem } from "../lanes/settle-batch.ts";
import { UnacknowledgedCharges } from "./unacknowledged.ts";

/** A charge that waits for longer is put into the file; nearly all are acknowledged within milliseconds. */
const overdueMs = 500;

/**
 * Keeps charges on this machine's own disk for as long as the database does not acknowledge them. A disk that cannot be
 * written is reported once; the charges then wait in memory alone.
 */
export class ChargeKeeper {
  readonly #settings: Pick<NodeSettings, "dir" | "report">;
  readonly #kept = new Set<string>();
  #file: UnacknowledgedCharges | null = null;
  #isReported = false;

  constructor(settings: Pick<NodeSettings, "dir" | "report">) {
    this.#settings = settings;
  }

  get file(): string | null {
    return this.#file?.file ?? null;
  }

  isKept(id: string): boolean {
    return this.#kept.has(id);
  }

  /** Begins a file for this node, with what the node that it was before has kept. */
  begin(nodeNo: number, databaseId: string): void {
    const before = this.#file;
    this.#try(() => {
      const file = UnacknowledgedCharges.create(this.#settings.dir, nodeNo, databaseId);
      this.#file = file;
      if (before === null) return;
      file.keep(before.all());
      before.remove();
    });
  }

  /** What earlier processes of this folder have left; from now on it is kept here. */
  adopt(databaseId: string): readonly UnacknowledgedCharges[] {
    let left: readonly UnacknowledgedCharges[] = [];
    this.#try(() => {
      left = UnacknowledgedCharges.leftIn(this.#settings.dir, databaseId).filter(
        ({ nodeNo }) => nodeNo !== this.#file?.nodeNo,
      );
      for (const file of left) this.#keep(file.all());
    });
    return left;
  }

  keepOverdue(pendingFor: (ms: number) => readonly SettleItem[]): void {
    const overdue = pendingFor(overdueMs).filter((item) => item.kind === "end");
    const unkept = overdue.filter(({ id, charge }) => charge !== null && !this.#kept.has(id));
    if (unkept.length > 0) this.#try(() => this.#keep(unkept));
  }

  keep(end: HoldEnd): void {
    this.#try(() => this.#keep([end]));
  }

  acknowledged(items: readonly SettleItem[]): void {
    if (this.#kept.size === 0) return;
    const ends = items.filter((item) => item.kind === "end");
    const ids = ends.map(({ id }) => id).filter((id) => this.#kept.delete(id));
    if (ids.length > 0) this.#try(() => this.#file?.forget(ids));
  }

  /** Leaves nothing behind, unless something is still kept. */
  end(): void {
    this.#try(() => {
      if (this.#kept.size === 0) this.#file?.remove();
      else this.#file?.close();
    });
  }

  #keep(ends: readonly HoldEnd[]): void {
    this.#file?.keep(ends);
    if (this.#file !== null) for (const { id } of ends) this.#kept.add(id);
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!this.#isReported) this.#settings.report({ kind: "unkept", error });
      this.#isReported = true;
    }
  }
}
