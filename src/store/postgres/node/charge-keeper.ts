import type { NodeSettings } from "../../node.ts";
import type { HoldEnd } from "../lanes/hold-end.ts";
import type { MoneyItem } from "../lanes/money-batch.ts";
import { UnacknowledgedCharges } from "./unacknowledged.ts";

/** A charge that waits for longer is put into the file; nearly all are acknowledged within milliseconds. */
const overdueMs = 500;

/** The charges that a node of this folder has left. */
export interface LeftCharges {
  readonly nodeNo: number;
  /** Otherwise the folder may be a copy, and the node alive. */
  readonly isDead: boolean;
  readonly ends: readonly HoldEnd[];
}

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

  /**
   * What earlier processes of this folder have left. It is kept here from now on, and their files go. A file that cannot
   * be copied stays for the next start: a charge that is made twice changes nothing, one that is lost does.
   */
  adopt(databaseId: string): readonly LeftCharges[] {
    const left: LeftCharges[] = [];
    this.#try(() => {
      for (const file of UnacknowledgedCharges.leftIn(this.#settings.dir, databaseId)) {
        if (file.nodeNo !== this.#file?.nodeNo) left.push(this.#takeOver(file));
      }
    });
    return left;
  }

  keepOverdue(pendingFor: (ms: number) => readonly HoldEnd[]): void {
    const unkept = pendingFor(overdueMs).filter(({ id, charge }) => charge !== null && !this.#kept.has(id));
    if (unkept.length > 0) this.#try(() => this.#keep(unkept));
  }

  keep(end: HoldEnd): void {
    this.#try(() => this.#keep([end]));
  }

  acknowledged(items: readonly MoneyItem[]): void {
    if (this.#kept.size === 0) return;
    const ends = items.flatMap((item) => (item.kind === "end" ? [item.end.id] : []));
    const ids = ends.filter((id) => this.#kept.delete(id));
    if (ids.length > 0) this.#try(() => this.#file?.forget(ids));
  }

  /** Leaves nothing behind, unless something is still kept. */
  end(): void {
    this.#try(() => {
      if (this.#kept.size === 0) this.#file?.remove();
      else this.#file?.close();
    });
  }

  #takeOver(file: UnacknowledgedCharges): LeftCharges {
    const { nodeNo, isOriginal: isDead } = file;
    const ends = file.all();
    const isCopied = this.#file !== null && this.#try(() => this.#keep(ends));
    if (isCopied) file.remove();
    else file.close();
    return { nodeNo, isDead, ends };
  }

  #keep(ends: readonly HoldEnd[]): void {
    this.#file?.keep(ends);
    if (this.#file !== null) for (const { id } of ends) this.#kept.add(id);
  }

  /** False if it failed. */
  #try(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (err) {
      if (!this.#isReported) this.#settings.report({ kind: "unkept", err });
      this.#isReported = true;
      return false;
    }
  }
}
