import type { Database, Statement } from "bun:sqlite";
import { periodStart } from "../../../base/money/period.ts";
import type { ChargeEntry } from "../../records.ts";
import type { WrittenKey } from "./written-key.ts";

/**
 * Counts charges against the caps that apply to them. It reads the caps from the database in the batch's transaction,
 * so a cap that an operator just created counts charges that the gateway decided before it knew of it.
 */
export class CapWriter {
  readonly #any: Statement<{ any: number }, []>;
  readonly #count: Statement;
  #hasCaps = false;

  constructor(database: Database) {
    this.#any = database.query("SELECT EXISTS (SELECT 1 FROM caps) AS any");
    this.#count = database.query(countCharge);
  }

  /** Before the first charge of a batch. */
  begin(): void {
    this.#hasCaps = this.#any.get()?.any === 1;
  }

  add({ no, accountNo }: WrittenKey, { model, charged, countedAtMs }: ChargeEntry): void {
    if (!this.#hasCaps) return;
    const starts = (["day", "week", "month"] as const).map((period) => periodStart(period, countedAtMs));
    this.#count.run(no, accountNo, model, charged, ...starts);
  }
}

const start = "CASE period WHEN 'day' THEN ?5 WHEN 'week' THEN ?6 ELSE ?7 END";

const countCharge = `
UPDATE caps SET
  used = CASE WHEN ${start} = period_start_ms THEN used + ?4 WHEN ${start} > period_start_ms THEN ?4 ELSE used END,
  period_start_ms = max(period_start_ms, ${start})
WHERE (key_no = ?1 OR account_no = ?2) AND ?3 GLOB coalesce(models, '*')`;
