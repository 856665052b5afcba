import type { Database, Statement } from "bun:sqlite";
import { type ChainedRow, entryHash } from "../../../base/money/chain.ts";

/** An entry's account and key, by number and by id. */
export interface ChainedOwner {
  readonly accountNo: number;
  readonly accountId: string;
  readonly keyId: string;
}

/**
 * Numbers a batch's entries and links them to their accounts' chains, inside the batch's transaction. Nothing is kept between
 * two batches: another process may have added an entry meanwhile.
 */
export class ChainWriter {
  readonly #statements: ReturnType<typeof statementsOf>;
  /** The hash of each account's newest entry; null before its first. */
  readonly #heads = new Map<number, string | null>();
  #lastId: number | null = null;

  constructor(database: Database) {
    this.#statements = statementsOf(database);
  }

  nextId(): number {
    this.#lastId = (this.#lastId ?? this.#statements.findLast.get()?.id ?? 0) + 1;
    return this.#lastId;
  }

  /** The hash of the account's next entry. */
  link({ accountNo, accountId, keyId }: ChainedOwner, id: number, row: ChainedRow): string {
    const known = this.#heads.get(accountNo);
    const previous = known === undefined ? (this.#statements.findHead.get(accountNo)?.hash ?? null) : known;
    const hash = entryHash(previous, { id, accountId, keyId }, row);
    this.#heads.set(accountNo, hash);
    return hash;
  }

  write(): void {
    for (const [accountNo, hash] of this.#heads) this.#statements.setHead.run(hash, accountNo);
    this.forget();
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#heads.clear();
    this.#lastId = null;
  }
}

const statementsOf = (database: Database) => ({
  findLast: database.query<{ id: number | null }, []>("SELECT max(id) AS id FROM entries"),
  findHead: database.query<{ hash: string | null }, [number]>(
    "SELECT chain_hash AS hash FROM accounts WHERE no = ?",
  ),
  setHead: database.query("UPDATE accounts SET chain_hash = ? WHERE no = ?") as Statement,
});
