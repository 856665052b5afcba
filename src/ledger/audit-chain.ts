import { type Anchor, AnchorFold } from "../base/money/anchor.ts";
import { entryHash } from "../base/money/chain.ts";
import type { ChainHead, LedgerFault, ListedEntry, Store } from "../store/store.ts";

/** More faults would not help to find the cause. */
const maxFaults = 100;

interface ChainState {
  /** The newest hash of each account, as of before the entries are read. */
  readonly heads: readonly ChainHead[];
  readonly anchors: readonly Anchor[];
  /** An older release can be writing entries without hashes. */
  readonly isMixed: boolean;
}

export async function readChain({ chain }: Pick<Store, "chain">): Promise<ChainState> {
  const heads = await chain.heads();
  return { heads, anchors: await chain.anchors(), isMixed: await chain.isMixed() };
}

/**
 * Recomputes the ledger's chain and its anchors from the entries, in the order of their ids. After an entry that does not fit it
 * continues from the stored hash, so that each change is reported once.
 */
export class ChainAudit {
  readonly #isMixed: boolean;
  readonly #anchors: Anchor[];
  /** Hashes of accounts that must still be found. */
  readonly #kept: Map<string, string>;
  readonly #newest = new Map<string, string>();
  readonly #faults: LedgerFault[] = [];
  /** Entries without a hash after one that has one. An anchor that covers them has accepted them. */
  #unchained: ListedEntry[] = [];
  #hasChained = false;
  #fold = new AnchorFold(null);

  constructor({ heads, anchors, isMixed }: ChainState) {
    this.#isMixed = isMixed;
    this.#anchors = [...anchors];
    this.#kept = new Map(heads.map(({ accountId, hash }) => [accountId, hash]));
  }

  add(entry: ListedEntry): void {
    this.#closeBefore(entry.id);
    this.#fold.add(entry);
    const { accountId, hash } = entry;
    if (hash === null) {
      if (this.#hasChained && this.#unchained.length < maxFaults) this.#unchained.push(entry);
      return;
    }
    this.#hasChained = true;
    const recomputed = entryHash(this.#newest.get(accountId) ?? null, entry, entry.chained);
    if (recomputed !== hash) this.#fault(entry.keyId, `entry ${entry.id}`, hash, recomputed);
    this.#newest.set(accountId, hash);
    if (this.#kept.get(accountId) === hash) this.#kept.delete(accountId);
  }

  finish(): readonly LedgerFault[] {
    this.#closeBefore(Number.POSITIVE_INFINITY);
    if (!this.#isMixed) {
      for (const { id, keyId, accountId, ...entry } of this.#unchained) {
        const previous = this.#newest.get(accountId) ?? null;
        this.#fault(
          keyId,
          `entry ${id}`,
          "none",
          entryHash(previous, { id, accountId, keyId }, entry.chained),
        );
      }
    }
    for (const [accountId, hash] of this.#kept) {
      this.#fault(null, `account ${accountId}`, hash, this.#newest.get(accountId) ?? "none");
    }
    return this.#faults;
  }

  #closeBefore(id: number): void {
    for (;;) {
      const [anchor] = this.#anchors;
      if (anchor === undefined || anchor.throughId >= id) return;
      this.#anchors.shift();
      this.#close(anchor);
    }
  }

  #close(anchor: Anchor): void {
    const sealed = this.#fold.seal(anchor.atMs, anchor.throughId);
    if (sealed.hash === anchor.hash) this.#unchained = [];
    else this.#fault(null, `anchor ${anchor.no}`, anchor.hash, sealed.hash);
    this.#fold = new AnchorFold(anchor);
  }

  #fault(keyId: string | null, where: string, kept: string, recomputed: string): void {
    if (this.#faults.length < maxFaults) this.#faults.push({ keyId, where, field: "hash", kept, recomputed });
  }
}
