import type { Database, Statement } from "bun:sqlite";
import { totalInput, type Usage } from "../../base/usage.ts";
import type { FailedExchange, UsageRecord } from "../records.ts";
import { bandCount, bandOf, upperBoundMs } from "./latency-bands.ts";

const msPerHour = 3_600_000;
/** So many sums take about 2 ms to write. */
const largeRollup = 100;

interface HourSums {
  readonly hour: number;
  readonly keyNo: number;
  readonly model: string;
  readonly provider: string;
  requests: number;
  failures: number;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  costNano: number;
  firstByteMs: number;
  firstByteCount: number;
  totalMs: number;
  readonly latencies: Latencies;
}

/** What of a usage record is added up. */
type RolledUp = Pick<
  UsageRecord,
  "atMs" | "model" | "provider" | "outcome" | "usage" | "costNano" | "firstByteMs" | "totalMs"
>;

/** Requests by band of time, of one hour and model at one provider, all keys together. */
interface Latencies {
  readonly hour: number;
  readonly model: string;
  readonly provider: string;
  readonly firstByte: Float64Array;
  readonly total: Float64Array;
}

/**
 * Adds usage up in memory and writes the sums every second or so, because one row per request and hour would
 * double the cost of a settle. Nothing is lost in a crash: each write says through which entry it counts, and
 * whatever comes after is added up again from the entries themselves when the store is opened.
 */
export class UsageRollup {
  readonly #upsertHour: Statement;
  readonly #upsertModelHour: Statement;
  readonly #upsertKeyDay: Statement;
  readonly #upsertLatency: Statement;
  readonly #upsertLatencyOverall: Statement;
  readonly #mark: Statement;
  readonly #hours = new Map<string, HourSums>();
  readonly #latencies = new Map<string, Latencies>();
  /** The sums that were added to last: traffic comes in runs, and comparing is cheaper than making a name. */
  #latest: HourSums | null = null;
  #throughEntryId = 0;

  constructor(database: Database) {
    this.#upsertHour = database.query(upsertHour);
    this.#upsertModelHour = database.query(upsertInto("usage_model_hours", 3));
    this.#upsertKeyDay = database.query(upsertInto("usage_key_days", 2));
    this.#upsertLatency = database.query(upsertLatency);
    this.#upsertLatencyOverall = database.query(upsertLatencyOverall);
    this.#mark = database.query("UPDATE state SET rolled_up_through = max(rolled_up_through, ?)");
  }

  get isEmpty(): boolean {
    return this.#hours.size === 0;
  }

  /** Whether writing it would soon take long enough for others to notice. */
  get isLarge(): boolean {
    return this.#hours.size >= largeRollup;
  }

  add(record: RolledUp, keyNo: number): void {
    const sums = this.#sumsOf(record.atMs, keyNo, record.model, record.provider);
    sums.requests += 1;
    if (record.outcome === "failed") sums.failures += 1;
    sums.inputTokens += totalInput(record.usage);
    sums.cachedInputTokens += record.usage.cachedInputTokens;
    sums.outputTokens += record.usage.outputTokens;
    sums.costNano += record.costNano;
    sums.totalMs += Math.round(record.totalMs);
    count(sums.latencies.total, record.totalMs);
    if (record.firstByteMs === null) return;
    sums.firstByteMs += Math.round(record.firstByteMs);
    sums.firstByteCount += 1;
    count(sums.latencies.firstByte, record.firstByteMs);
  }

  /** Failures without a charge have no entry; a crash may forget those of the last second. */
  addFailure(failure: FailedExchange, keyNo: number): void {
    const sums = this.#sumsOf(failure.atMs, keyNo, failure.model, failure.provider);
    sums.failures += 1;
    count(sums.latencies.total, failure.totalMs);
  }

  /** All charges up to this entry have been added. */
  coversThrough(entryId: number): void {
    this.#throughEntryId = entryId;
  }

  /** Inside the caller's transaction; `clear` follows once that is committed. */
  write(): void {
    for (const sums of this.#hours.values()) {
      this.#upsertHour.run(
        sums.hour,
        sums.keyNo,
        sums.model,
        sums.provider,
        sums.requests,
        sums.failures,
        sums.inputTokens,
        sums.cachedInputTokens,
        sums.outputTokens,
        sums.costNano,
        sums.firstByteMs,
        sums.firstByteCount,
        sums.totalMs,
      );
      const { requests, failures, inputTokens, outputTokens, costNano } = sums;
      const figures = [requests, failures, inputTokens, outputTokens, costNano] as const;
      this.#upsertModelHour.run(sums.hour, sums.model, sums.provider, ...figures);
      this.#upsertKeyDay.run(sums.keyNo, Math.floor(sums.hour / 24), ...figures);
    }
    for (const latencies of this.#latencies.values()) {
      this.#writeLatencies(latencies, "first_byte", latencies.firstByte);
      this.#writeLatencies(latencies, "total", latencies.total);
    }
    this.#mark.run(this.#throughEntryId);
  }

  clear(): void {
    this.#hours.clear();
    this.#latencies.clear();
    this.#latest = null;
  }

  #writeLatencies(
    { hour, model, provider }: Latencies,
    measure: "first_byte" | "total",
    bands: Float64Array,
  ) {
    for (const [band, requests] of bands.entries()) {
      if (requests === 0) continue;
      this.#upsertLatency.run(hour, model, provider, measure, upperBoundMs(band), requests);
      this.#upsertLatencyOverall.run(hour, measure, upperBoundMs(band), requests);
    }
  }

  #sumsOf(atMs: number, keyNo: number, model: string, provider: string): HourSums {
    const hour = Math.floor(atMs / msPerHour);
    const latest = this.#latest;
    const isSame = latest !== null && latest.hour === hour && latest.keyNo === keyNo;
    if (isSame && latest.model === model && latest.provider === provider) return latest;
    const name = `${hour} ${keyNo} ${model} ${provider}`;
    let sums = this.#hours.get(name);
    if (sums === undefined) {
      sums = noSums(keyNo, this.#latenciesOf(hour, model, provider));
      this.#hours.set(name, sums);
    }
    this.#latest = sums;
    return sums;
  }

  #latenciesOf(hour: number, model: string, provider: string): Latencies {
    const name = `${hour} ${model} ${provider}`;
    let latencies = this.#latencies.get(name);
    if (latencies === undefined) {
      const [firstByte, total] = [new Float64Array(bandCount), new Float64Array(bandCount)];
      latencies = { hour, model, provider, firstByte, total };
      this.#latencies.set(name, latencies);
    }
    return latencies;
  }
}

function noSums(keyNo: number, latencies: Latencies): HourSums {
  return {
    hour: latencies.hour,
    keyNo,
    model: latencies.model,
    provider: latencies.provider,
    requests: 0,
    failures: 0,
    inputTokens: 0,
    cachedInputTokens: 0,
    outputTokens: 0,
    costNano: 0,
    firstByteMs: 0,
    firstByteCount: 0,
    totalMs: 0,
    latencies,
  };
}

function count(bands: Float64Array, tookMs: number): void {
  const band = bandOf(tookMs);
  bands[band] = (bands[band] ?? 0) + 1;
}

const upsertHour = `
INSERT INTO usage_hours VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
  requests = requests + excluded.requests,
  failures = failures + excluded.failures,
  input_tokens = input_tokens + excluded.input_tokens,
  cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
  output_tokens = output_tokens + excluded.output_tokens,
  cost_nano = cost_nano + excluded.cost_nano,
  first_byte_ms = first_byte_ms + excluded.first_byte_ms,
  first_byte_count = first_byte_count + excluded.first_byte_count,
  total_ms = total_ms + excluded.total_ms`;

/** The two coarser tables have the same five figures after a primary key of two or three columns. */
function upsertInto(table: "usage_model_hours" | "usage_key_days", keyColumns: 2 | 3): string {
  const places = Array.from({ length: keyColumns + 5 }, () => "?").join(", ");
  return `INSERT INTO ${table} VALUES (${places})
ON CONFLICT DO UPDATE SET
  requests = requests + excluded.requests,
  failures = failures + excluded.failures,
  input_tokens = input_tokens + excluded.input_tokens,
  output_tokens = output_tokens + excluded.output_tokens,
  cost_nano = cost_nano + excluded.cost_nano`;
}

const upsertLatency = `
INSERT INTO latency_hours VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET requests = requests + excluded.requests`;

const upsertLatencyOverall = `
INSERT INTO latency_all_hours VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET requests = requests + excluded.requests`;

/** Counts the charges that a crash left out of the sums. Inside the caller's transaction. */
export function catchUpRollup(database: Database): void {
  const rollup = new UsageRollup(database);
  for (const row of database.query<UncountedRow, []>(selectUncounted).iterate()) {
    rollup.add({ ...row, usage: row }, row.keyNo);
    rollup.coversThrough(row.id);
  }
  if (!rollup.isEmpty) rollup.write();
}

interface UncountedRow extends Usage, Omit<RolledUp, "usage"> {
  readonly id: number;
  readonly keyNo: number;
}

const selectUncounted = `
SELECT id, key_no AS keyNo, recorded_at_ms AS atMs, model, provider, outcome, input_tokens AS inputTokens,
  cached_input_tokens AS cachedInputTokens, cache_write_tokens AS cacheWriteTokens,
  output_tokens AS outputTokens, reasoning_tokens AS reasoningTokens, cost_nano AS costNano,
  first_byte_ms AS firstByteMs, total_ms AS totalMs
FROM entries WHERE id > (SELECT rolled_up_through FROM state) AND recorded_at_ms IS NOT NULL ORDER BY id`;
