import { type ChainedRow, type ChainPlace, digest, text, unchainedHash } from "./chain.ts";

/** Joins all entries up to one of them (rule 5 of the chain). */
export interface Anchor {
  /** The first is 1. */
  readonly no: number;
  readonly atMs: number;
  /** The newest entry that it covers. */
  readonly throughId: number;
  /** How many entries it covers, and how many of them have no hash of their own. */
  readonly entries: number;
  readonly unchained: number;
  /** The joint hash of those without. */
  readonly unchainedHash: string;
  readonly hash: string;
}

/** An entry as the chain sees it. */
export interface AnchoredEntry extends ChainPlace {
  /** Null in entries from before the chain. */
  readonly hash: string | null;
  readonly chained: ChainedRow;
}

/** Adds up the entries after an anchor, in the order of their ids, to the next one. */
export class AnchorFold {
  readonly #before: Anchor | null;
  readonly #heads = new Map<string, string>();
  #entries: number;
  #unchained: number;
  #unchainedHash: string;

  constructor(before: Anchor | null) {
    this.#before = before;
    this.#entries = before?.entries ?? 0;
    this.#unchained = before?.unchained ?? 0;
    this.#unchainedHash = before?.unchainedHash ?? digest("ledger unchained 1");
  }

  /** How many entries follow the anchor before. */
  get added(): number {
    return this.#entries - (this.#before?.entries ?? 0);
  }

  /** Whether any entry so far has a hash: from then on all should. */
  get hasChained(): boolean {
    return this.#entries > this.#unchained;
  }

  add(entry: AnchoredEntry): void {
    this.#entries += 1;
    if (entry.hash !== null) this.#heads.set(entry.accountId, entry.hash);
    else {
      this.#unchained += 1;
      this.#unchainedHash = unchainedHash(this.#unchainedHash, entry, entry.chained);
    }
  }

  seal(atMs: number, throughId: number): Anchor {
    const no = (this.#before?.no ?? 0) + 1;
    const counts = { entries: this.#entries, unchained: this.#unchained, unchainedHash: this.#unchainedHash };
    const facts = [no, atMs, throughId, ...Object.values(counts), this.#before?.hash ?? "-"];
    const accounts = [...this.#heads.keys()].toSorted();
    const heads = accounts.map((accountId) => ` ${text(accountId)} ${this.#heads.get(accountId)}`);
    const hash = digest(`ledger anchor 1 ${facts.join(" ")}${heads.join("")}`);
    return { no, atMs, throughId, ...counts, hash };
  }
}

/** As operators keep it: its number and its hash. */
export function anchorText({ no, hash }: Pick<Anchor, "no" | "hash">): string {
  return `a${no}.${hash}`;
}
