import type { Database, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { coversModel } from "../../../base/models/model-pattern.ts";
import { periodStart, periodStarts } from "../../../base/money/period.ts";
import { type LabelColumn, uncounted } from "../../../base/requests/labels.ts";
import type { CountedCharge } from "../../counted-charges.ts";
import type { CapLimit } from "../../records.ts";
import { sqliteText } from "../queries.ts";
import { laterUsed } from "./account-deltas.ts";
import type { WrittenKey } from "./entry-writer.ts";

interface CapRow {
  readonly no: number;
  readonly keyNo: number | null;
  readonly accountNo: number | null;
  readonly isCredit: number;
  readonly label: string;
  readonly value: string | null;
  readonly period: CapLimit["period"];
  readonly models: string | null;
  readonly isOptional: number;
}

interface ValueDelta {
  readonly no: number;
  readonly value: string;
  readonly startMs: number;
  charged: number;
}

/**
 * Adds up what a batch's charges change on each value of the caps by value. The caps are read again in the batch's transaction
 * whenever an operator has changed something, so a cap that was just created counts charges that the gateway decided before it knew of it.
 */
class ValueCapWriter {
  readonly #select: Statement<CapRow, []>;
  readonly #add: Statement;
  readonly #turn: Statement;
  #revision = -1;
  #each: readonly CapRow[] = [];
  /** Caps of one value, by their label and value: there may be thousands. */
  #fixed: ReadonlyMap<string, readonly CapRow[]> = new Map();
  #deltas = new Map<string, ValueDelta>();

  constructor(database: Database) {
    this.#select = database.query(selectCaps);
    this.#add = database.query(addToPeriod);
    this.#turn = database.query(turnPeriod);
  }

  /** Call before the first charge of a batch, in its transaction. */
  begin(revision: number): void {
    if (revision === this.#revision) return;
    const caps = this.#select.all();
    this.#revision = revision;
    this.#each = caps.filter(({ value }) => value === null);
    const fixed = caps.filter(({ value }) => value !== null);
    this.#fixed = Map.groupBy(fixed, ({ label, value }) => `${label} ${value}`);
  }

  add(key: WrittenKey, { model, labels, charged, countedAtMs }: CountedCharge): void {
    // What the gateway itself charges, and what was charged before there were labels, has none.
    if (labels === null || (this.#each.length === 0 && this.#fixed.size === 0)) return;
    const kept: LabelColumn = JSON.parse(labels);
    for (const cap of this.#each) {
      const value = kept[cap.label] || kept[uncounted + cap.label] || (cap.isOptional === 1 ? "" : null);
      if (value !== null && counts(cap, key, model, kept)) this.#count(cap, value, charged, countedAtMs);
    }
    if (this.#fixed.size === 0) return;
    for (const [name, value] of Object.entries(kept)) {
      const label = name.startsWith(uncounted) ? name.slice(uncounted.length) : name;
      for (const cap of this.#fixed.get(`${label} ${value}`) ?? [])
        if (counts(cap, key, model, kept)) this.#count(cap, value, charged, countedAtMs);
    }
  }

  /** Must run inside the batch's transaction. */
  write(): void {
    for (const delta of this.#deltas.values()) this.#write(delta);
    this.#deltas.clear();
  }

  /** Call it after a rollback. What raised the revision may have been rolled back, too. */
  forget(): void {
    this.#revision = -1;
    this.#deltas.clear();
  }

  /** A delta belongs to one period. If a batch spans two, the earlier one is written at once. */
  #count({ no, period }: CapRow, value: string, charged: number, countedAtMs: number): void {
    const startMs = periodStart(period, countedAtMs);
    const name = `${no} ${value}`;
    const known = this.#deltas.get(name);
    if (known?.startMs === startMs) {
      known.charged += charged;
      return;
    }
    if (known !== undefined) this.#write(known);
    this.#deltas.set(name, { no, value, startMs, charged });
  }

  #write({ no, value, startMs, charged }: ValueDelta): void {
    if (this.#add.run(charged, no, value, startMs).changes === 0) this.#turn.run(no, value, startMs, charged);
  }
}

function counts(cap: CapRow, key: WrittenKey, model: string, kept: LabelColumn): boolean {
  if ((cap.isCredit === 1) !== key.isCredit) return false;
  if (cap.keyNo !== null && cap.keyNo !== key.no) return false;
  if (cap.accountNo !== null && cap.accountNo !== key.accountNo) return false;
  const fallbackFrom = kept["fallback_from"];
  if (coversModel(cap.models, model)) return true;
  return fallbackFrom !== undefined && coversModel(cap.models, fallbackFrom);
}

const selectCaps = `
SELECT no, key_no AS keyNo, account_no AS accountNo, mode = 'credit' AS isCredit, label, value, period, models, is_optional AS isOptional
FROM value_caps ORDER BY no`;

/** Nearly always enough, and touches no index. */
const addToPeriod =
  "UPDATE cap_values SET used = used + ?1 WHERE cap_no = ?2 AND value = ?3 AND period_start_ms = ?4";

const turnPeriod = sqliteText(`
INSERT INTO cap_values (cap_no, value, period_start_ms, used) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (cap_no, value) DO UPDATE SET
  used = CASE WHEN excluded.period_start_ms = period_start_ms THEN used + ?4
    WHEN excluded.period_start_ms > period_start_ms THEN ?4 + ${laterUsed("later_used", "excluded.period_start_ms")} ELSE used END,
  period_start_ms = max(period_start_ms, excluded.period_start_ms)`);

/**
 * Counts charges against the caps that apply to them. It reads the caps from the database in the batch's transaction,
 * so a cap that an operator just created counts charges that the gateway decided before it knew of it.
 */
export class CapWriter {
  readonly #any: Statement<{ any: number; revision: number }, []>;
  readonly #count: Statement;
  readonly #values: ValueCapWriter;
  #hasCaps = false;

  constructor(database: Database) {
    this.#any = database.query("SELECT EXISTS (SELECT 1 FROM caps) AS any, revision FROM state");
    this.#count = database.query(countCharge);
    this.#values = new ValueCapWriter(database);
  }

  /** Call before the first charge of a batch. */
  begin(): void {
    const found = this.#any.get();
    assert(found !== null, "the state has one row");
    this.#hasCaps = found.any === 1;
    this.#values.begin(found.revision);
  }

  add(key: WrittenKey, charge: CountedCharge): void {
    this.#values.add(key, charge);
    if (!this.#hasCaps) return;
    const { model, labels, charged, countedAtMs } = charge;
    this.#count.run(key.no, key.accountNo, model, charged, ...periodStarts(countedAtMs), labels);
  }

  /** Must run inside the batch's transaction, after its charges. */
  write(): void {
    this.#values.write();
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#values.forget();
  }
}

const start = "(CASE period WHEN 'day' THEN ?5 WHEN 'week' THEN ?6 ELSE ?7 END)";

const countCharge = sqliteText(`
UPDATE caps SET
  used = CASE WHEN ${start} = period_start_ms THEN used + ?4 WHEN ${start} > period_start_ms THEN ?4 + ${laterUsed("later_used", start)} ELSE used END,
  period_start_ms = max(period_start_ms, ${start})
WHERE (key_no = ?1 OR account_no = ?2) AND (sluice_covers(models, ?3) OR sluice_covers(models, ?8 ->> 'fallback_from'))`);
