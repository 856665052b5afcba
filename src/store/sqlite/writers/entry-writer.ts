import type { Database, Statement } from "bun:sqlite";
import type { StoredRates } from "../../../base/money/rates.ts";
import type { AttemptCount } from "../../attempt-sums.ts";
import type { ChargeEntry, UsageRecord } from "../../records.ts";
import { entryColumns, entryRows } from "../../written-rows.ts";

const written = ["key_no", "account_no", "credential", "owed_nano_usd", ...entryColumns];

/** Inserts the ledger's entries. Most charges come with a usage record, stored in the same row. */
export class EntryWriter {
  readonly #rates: RatesWriter;
  readonly #insert: Statement;
  #lastId = 0;

  constructor(database: Database, rates: RatesWriter) {
    this.#rates = rates;
    this.#insert = database.query(
      `INSERT INTO entries (${written.join(", ")}) VALUES (${written.map((column) => `$${column}`).join(", ")})`,
    );
  }

  /** `attempt` is the one that the row contains; null if it contains none. Returns the id of the charge's entry. */
  insert(
    { no, accountNo }: WrittenKey,
    charge: ChargeEntry,
    record: UsageRecord | null,
    attempt: AttemptCount | null,
  ): number {
    this.#rates.keep(charge.rates);
    const owner = {
      key_no: no,
      account_no: otherAccount(no, accountNo),
      credential: null,
      owed_nano_usd: null,
    };
    const [row, ...overruns] = entryRows(charge, record);
    const own = attempt && {
      credential: attempt.credential,
      owed_nano_usd: owedColumn(attempt, charge, record),
    };
    const entryId = this.#run({ ...row, ...owner, ...own });
    for (const overrun of overruns) this.#run({ ...overrun, ...owner });
    return entryId;
  }

  /** The newest entry; 0 before the first. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#lastId = 0;
  }

  #run(row: Readonly<Record<string, string | number | boolean | null>>): number {
    this.#lastId = Number(this.#insert.run(row).lastInsertRowid);
    return this.#lastId;
  }
}

/** Null if that is the cost. */
function owedColumn(
  { owedNanoUsd }: AttemptCount,
  { listCostNano }: ChargeEntry,
  record: UsageRecord | null,
): number | null {
  return owedNanoUsd === (listCostNano ?? record?.costNano) ? null : owedNanoUsd;
}

/** Writes each set of rates once, inside the batch's transaction. */
export class RatesWriter {
  readonly #insert: Statement;
  /** Rates that are in the database, or will be if this transaction commits. */
  readonly #known = new Set<number>();

  constructor(database: Database) {
    this.#insert = database.query("INSERT INTO rates (id, rates) VALUES (?, ?) ON CONFLICT DO NOTHING");
  }

  /** The id of the rates. */
  keep(rates: StoredRates | null): number | null {
    if (rates === null) return null;
    if (!this.#known.has(rates.id)) {
      this.#insert.run(rates.id, rates.text);
      this.#known.add(rates.id);
    }
    return rates.id;
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#known.clear();
  }
}

/**
 * The `account_no` of an entry or a hold: NULL for the key's own account, which has the key's number. So the common
 * case stores nothing, and rows older than accounts need no change.
 */
export function otherAccount(keyNo: number, accountNo: number): number | null {
  return accountNo === keyNo ? null : accountNo;
}

/** The part of a key that the writers need. */
export interface WrittenKey {
  readonly no: number;
  readonly accountNo: number;
  readonly isCredit: boolean;
}
