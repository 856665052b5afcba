import type { Database, Statement } from "bun:sqlite";
import { utcDay } from "../../../base/clock.ts";
import { unaffordableNano } from "../../../base/money/money.ts";
import { totalInput } from "../../../base/usage/usage.ts";
import type { AttemptCount, AttemptSums } from "../../attempt-sums.ts";
import { type Figures, figureNames, type MutableFigures, noFigures } from "../../figures.ts";
import type { ChargeEntry, ExchangeEnding, UsageRecord } from "../../records.ts";
import { namedAttempts } from "../../reporting/attempt-columns.ts";
import { namedFigures, upsertFigures } from "../../reporting/figure-columns.ts";
import { oldestKeptMinute } from "../../reporting/kept-minutes.ts";
import { bandCount, bandOf, upperBoundMs } from "../../reporting/latency-bands.ts";
import { savingsColumn } from "../../stored-quantities.ts";
import { AttemptWriter } from "./attempt-writer.ts";
import { type KeyCharge, KeySums } from "./key-sums.ts";
import type { WrittenKey } from "./written-key.ts";

export const msPerMinute = 60_000;
const minutesPerHour = 60;
const hoursPerDay = 24;
/** Takes about 3 ms to write. */
const largeRollup = 100;

interface MinuteSums {
  readonly minute: number;
  readonly keyNo: number;
  readonly model: string;
  readonly provider: string;
  readonly figures: MutableFigures;
  readonly latencies: Latencies;
}

/** Exchanges by band of time, of one minute, everything together. */
interface Latencies {
  readonly minute: number;
  readonly firstByte: Float64Array;
  readonly total: Float64Array;
}

/**
 * Adds figures up in memory and writes the sums every second or so, because one row per request and hour would
 * double the cost of a settle. Nothing is lost in a crash: each write says through which entry and which ending it
 * counts, and whatever comes after is added up from the rows themselves, by reports and at the next start. What each
 * figure counts is defined by the views `entry_figures` and `ending_figures`; this must say the same.
 */
export class UsageRollup {
  readonly #upsertMinute: Statement;
  readonly #upsertKeyHour: Statement;
  readonly #upsertHour: Statement;
  readonly #upsertKeyDay: Statement;
  readonly #upsertLatencyMinute: Statement;
  readonly #upsertLatencyHour: Statement;
  readonly #selectOldestKept: Statement<{ minute: number | null }, []>;
  readonly #forgetMinutes: Statement;
  readonly #forgetLatencies: Statement;
  readonly #mark: Statement;
  readonly #keys: KeySums;
  readonly #attempts: AttemptWriter;
  #sums = new Map<string, MinuteSums>();
  #latencies = new Map<number, Latencies>();
  /** The sums that were added to last: traffic comes in runs, and comparing is cheaper than making a name. */
  #latest: MinuteSums | null = null;
  #lastMinute = 0;
  #hasNewMinute = false;
  #throughEntryId = 0;
  #throughEndingId = 0;

  constructor(database: Database) {
    const byKey = ["model", "provider"];
    this.#upsertMinute = database.query(upsertFigures("usage_minutes", ["minute", "key_no", ...byKey]));
    this.#upsertKeyHour = database.query(upsertFigures("usage_key_hours", ["key_no", "hour", ...byKey]));
    this.#upsertHour = database.query(upsertFigures("usage_all_hours", ["hour", ...byKey]));
    this.#upsertKeyDay = database.query(upsertFigures("usage_key_days", ["key_no", "day"]));
    this.#upsertLatencyMinute = database.query(upsertLatency("latency_minutes"));
    this.#upsertLatencyHour = database.query(upsertLatency("latency_all_hours"));
    this.#selectOldestKept = database.query(oldestKeptMinute("unixepoch() / 60"));
    this.#forgetMinutes = database.query("DELETE FROM usage_minutes WHERE minute < ?");
    this.#forgetLatencies = database.query("DELETE FROM latency_minutes WHERE minute < ?");
    this.#mark = database.query(
      `UPDATE state SET rolled_up_through = max(rolled_up_through, ?1), totals_through = max(totals_through, ?1),
        endings_rolled_up_through = max(endings_rolled_up_through, ?2)`,
    );
    this.#keys = new KeySums(database);
    this.#attempts = new AttemptWriter(database);
  }

  get isEmpty(): boolean {
    return this.#sums.size === 0;
  }

  /** Whether it should be written before it takes too long. */
  get isLarge(): boolean {
    return this.#sums.size >= largeRollup;
  }

  addCharge({ no, isCredit }: WrittenKey, charge: ChargeEntry, record: UsageRecord | null): void {
    const { charged, outcome } = charge;
    const { model, provider } = record ?? charge;
    const { figures, latencies } = this.#sumsOf(charge.atMs, no, model, provider);
    figures[outcome] += 1;
    if (isCredit) {
      figures.spendNano += charged;
      if (outcome === "cancelled") figures.cancelledSpendNano += charged;
      if (outcome === "interrupted") figures.interruptedSpendNano += charged;
    } else {
      figures.spendTokens += charged;
      if (outcome === "cancelled") figures.cancelledSpendTokens += charged;
      if (outcome === "interrupted") figures.interruptedSpendTokens += charged;
    }
    figures[isCredit ? "overrunNano" : "overrunTokens"] += charge.overrun;
    if (charge.listCostNano !== null) figures.listCostNano += charge.listCostNano;
    this.#keys.add(keyCharge(no, charge, record));
    if (record === null) return;
    const { usage } = record;
    figures.requests += 1;
    figures.inputTokens += totalInput(usage);
    figures.cachedInputTokens += usage.cachedInputTokens;
    figures.outputTokens += usage.outputTokens;
    figures.cacheSavingsNano += savingsColumn(charge.rates, charge.quantities) ?? 0;
    addTotal(figures, latencies, record.totalMs);
    if (record.firstByteMs === null) return;
    const firstByteMs = Math.round(record.firstByteMs);
    figures.firstByteMs += firstByteMs;
    figures.firstByteCount += 1;
    count(latencies.firstByte, firstByteMs);
  }

  /** What a charge's row says of its attempt. */
  addAttempt(atMs: number, attempt: AttemptCount): void {
    this.#attempts.add(utcDay(atMs), attempt);
  }

  /** The attempts that failed before an exchange completed. */
  addCovered(no: number, { atMs, model, outcome, attemptDetails }: ExchangeEnding): void {
    if (outcome !== "completed") return;
    for (const { provider, failure } of attemptDetails) {
      if (failure !== null) this.#sumsOf(atMs, no, model, provider).figures.coveredAttempts += 1;
    }
  }

  /** One that was not charged. */
  addEnding(no: number, { atMs, model, provider, outcome, alike, totalMs }: ExchangeEnding): void {
    const { figures, latencies } = this.#sumsOf(atMs, no, model, provider);
    figures[outcome] += 1 + alike;
    if (outcome === "failed" && totalMs !== null) addTotal(figures, latencies, totalMs);
  }

  /** What a crash left uncounted, as the database has it. */
  addUncounted({ atMs, keyNo, model, provider, ...row }: UncountedRow): void {
    const { figures, latencies } = this.#sumsOf(atMs, keyNo, model, provider);
    for (const name of figureNames) figures[name] += row[name];
    if (row.totalCount === 1) count(latencies.total, row.totalMs);
    if (row.firstByteCount === 1) count(latencies.firstByte, row.firstByteMs);
  }

  /** The same of what only the sums of keys and of attempts count. */
  addUntotaled(charges: Iterable<KeyCharge>, attempts: Iterable<AttemptSums>): void {
    for (const charge of charges) this.#keys.add(charge);
    for (const attempt of attempts) this.#attempts.add(attempt.day, attempt);
  }

  /** Everything up to these ids has been added; 0 where nothing new came. */
  coversThrough(entryId: number, endingId: number): void {
    if (entryId > 0) this.#throughEntryId = entryId;
    if (endingId > 0) this.#throughEndingId = endingId;
  }

  /** Inside the caller's transaction; `clear` follows once that is committed. */
  write(): void {
    for (const { minute, keyNo, model, provider, figures } of this.#sums.values()) {
      const hour = Math.floor(minute / minutesPerHour);
      const values = figureNames.map((name) => figures[name]);
      this.#upsertMinute.run(minute, keyNo, model, provider, ...values);
      this.#upsertKeyHour.run(keyNo, hour, model, provider, ...values);
      this.#upsertHour.run(hour, model, provider, ...values);
      this.#upsertKeyDay.run(keyNo, Math.floor(hour / hoursPerDay), ...values);
    }
    for (const latencies of this.#latencies.values()) {
      this.#writeLatencies(latencies.minute, "first_byte", latencies.firstByte);
      this.#writeLatencies(latencies.minute, "total", latencies.total);
    }
    this.#keys.write();
    this.#attempts.write();
    this.#forgetOldMinutes();
    this.#mark.run(this.#throughEntryId, this.#throughEndingId);
  }

  clear(): void {
    this.#sums = new Map();
    this.#latencies = new Map();
    this.#latest = null;
    this.#keys.clear();
    this.#attempts.clear();
  }

  #writeLatencies(minute: number, measure: "first_byte" | "total", bands: Float64Array): void {
    for (const [band, requests] of bands.entries()) {
      if (requests === 0) continue;
      this.#upsertLatencyMinute.run(minute, measure, upperBoundMs(band), requests);
      this.#upsertLatencyHour.run(Math.floor(minute / minutesPerHour), measure, upperBoundMs(band), requests);
    }
  }

  #forgetOldMinutes(): void {
    if (!this.#hasNewMinute) return;
    this.#hasNewMinute = false;
    const oldest = this.#selectOldestKept.get()?.minute ?? 0;
    this.#forgetMinutes.run(oldest);
    this.#forgetLatencies.run(oldest);
  }

  #sumsOf(atMs: number, keyNo: number, model: string, provider: string): MinuteSums {
    const minute = Math.floor(atMs / msPerMinute);
    const latest = this.#latest;
    const isSame = latest !== null && latest.minute === minute && latest.keyNo === keyNo;
    if (isSame && latest.model === model && latest.provider === provider && !isFull(latest)) return latest;
    const name = `${minute} ${keyNo} ${model} ${provider}`;
    let sums = this.#sums.get(name);
    if (sums !== undefined && isFull(sums)) {
      this.#sums.set(`${name} ${this.#sums.size}`, sums);
      sums = undefined;
    }
    if (sums === undefined) {
      const latencies = this.#latenciesOf(minute);
      sums = { minute, keyNo, model, provider, figures: noFigures(), latencies };
      this.#sums.set(name, sums);
      if (minute !== this.#lastMinute) this.#hasNewMinute = true;
      this.#lastMinute = minute;
    }
    this.#latest = sums;
    return sums;
  }

  #latenciesOf(minute: number): Latencies {
    let latencies = this.#latencies.get(minute);
    if (latencies === undefined) {
      const [firstByte, total] = [new Float64Array(bandCount), new Float64Array(bandCount)];
      latencies = { minute, firstByte, total };
      this.#latencies.set(minute, latencies);
    }
    return latencies;
  }
}

/** One more charge might be more than a double holds exactly; the database adds both sums up. */
function isFull({ figures: { spendNano, listCostNano } }: MinuteSums): boolean {
  return spendNano > unaffordableNano || listCostNano > unaffordableNano;
}

/** Rounded as the rows have it, so that both fall into the same band. */
function addTotal(figures: MutableFigures, latencies: Latencies, tookMs: number): void {
  const totalMs = Math.round(tookMs);
  figures.totalMs += totalMs;
  figures.totalCount += 1;
  count(latencies.total, totalMs);
}

function count(bands: Float64Array, tookMs: number): void {
  const band = bandOf(tookMs);
  bands[band] = (bands[band] ?? 0) + 1;
}

function upsertLatency(table: "latency_minutes" | "latency_all_hours"): string {
  return `INSERT INTO ${table} VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + excluded.requests`;
}

interface UncountedRow extends Figures {
  readonly atMs: number;
  readonly keyNo: number;
  readonly model: string;
  readonly provider: string;
}

/** Counts what a crash left out of the sums. Inside the caller's transaction. */
export function catchUpRollup(database: Database): void {
  const rollup = new UsageRollup(database);
  const rows = database.query<UncountedRow, []>(
    `SELECT at_ms AS atMs, key_no AS keyNo, model, provider, ${namedFigures} FROM uncounted_usage`,
  );
  for (const row of rows.iterate()) rollup.addUncounted(row);
  rollup.addUntotaled(
    database.query<KeyCharge, []>(selectUntotaled).iterate(),
    database.query<AttemptSums, []>(`SELECT ${namedAttempts} FROM uncounted_attempts`).iterate(),
  );
  const last = database.query<{ entry: number; ending: number }, []>(
    `SELECT coalesce((SELECT max(id) FROM entries), 0) AS entry,
      coalesce((SELECT max(id) FROM exchange_endings), 0) AS ending`,
  );
  const { entry, ending } = last.get() ?? { entry: 0, ending: 0 };
  rollup.coversThrough(entry, ending);
  rollup.write();
}

const selectUntotaled = `
SELECT key_no AS keyNo, at_ms AS atMs, -amount AS charged, cost_nano AS costNano,
  input_tokens + cached_input_tokens + cache_write_tokens AS inputTokens, output_tokens AS outputTokens
FROM entries WHERE id > (SELECT totals_through FROM state) AND kind IN ('charge', 'overrun') AND amount <= 0 ORDER BY id`;

function keyCharge(keyNo: number, { atMs, charged }: ChargeEntry, record: UsageRecord | null): KeyCharge {
  if (record === null) return { keyNo, atMs, charged, costNano: null, inputTokens: 0, outputTokens: 0 };
  const { usage, costNano } = record;
  return { keyNo, atMs, charged, costNano, inputTokens: totalInput(usage), outputTokens: usage.outputTokens };
}
