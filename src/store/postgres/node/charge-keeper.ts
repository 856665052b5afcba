import type { NodeSettings } from "../../node-settings.ts";
import type { HoldEnd } from "../lanes/hold-end.ts";
import type { MoneyItem } from "../lanes/money-batch.ts";
import { UnacknowledgedCharges } from "./unacknowledged.ts";

/** Charges that wait longer are written to the file; nearly all are acknowledged within milliseconds. */
const overdueMs = 500;

/** Charges that an earlier node left in this folder. */
export interface UnsentCharges {
  readonly nodeNo: number;
  /** If false, the folder may be a copy and the node alive. */
  readonly isDead: boolean;
  readonly ends: readonly HoldEnd[];
}

/**
 * Keeps charges on this machine's disk until the database acknowledges them. A disk that cannot be written is reported
 * once; the charges then wait only in memory.
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

  /** Starts a file for this node, with the charges of its previous number. */
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
   * Takes over what earlier processes left in this folder, and deletes their files. A file that cannot be copied
   * stays for the next start: a charge made twice changes nothing, a lost one does.
   */
  adopt(databaseId: string): readonly UnsentCharges[] {
    const left: UnsentCharges[] = [];
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

  /** Deletes the file unless it still contains charges. */
  end(): void {
    this.#try(() => {
      if (this.#kept.size === 0) this.#file?.remove();
      else this.#file?.close();
    });
  }

  #takeOver(file: UnacknowledgedCharges): UnsentCharges {
    const { nodeNo, isOriginal: isDead } = file;
    const ends = file.all();
    if (ends.some(isFormer)) {
      file.close();
      this.#report(
        new Error(
          `only the version that wrote ${file.file} can write its charges; their holds were released`,
        ),
      );
      return { nodeNo, isDead, ends: [] };
    }
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
      this.#report(err);
      return false;
    }
  }

  #report(err: unknown): void {
    if (!this.#isReported) this.#settings.report({ kind: "unkept", err });
    this.#isReported = true;
  }
}

/** Written before 001.sql was frozen. */
function isFormer({ charge }: HoldEnd): boolean {
  return charge !== null && "columns" in charge;
}
