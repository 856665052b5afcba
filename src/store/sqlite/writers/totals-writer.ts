import type { Database, Statement } from "bun:sqlite";
import { upperBoundMs } from "../../reporting/latency-bands.ts";
import { totalColumnNames, upsertTotals } from "../../reporting/total-columns.ts";
import { totalNames } from "../../usage-totals.ts";
import { laterUsed } from "../later-used.ts";
import type { UncountedEntries } from "./uncounted-entries.ts";

const minutesPerHour = 60;
const hoursPerDay = 24;
const byModel = ["model", "provider"];
const byBand = ["measure", "up_to_ms"];

/** Adds entries that were added up in memory to the tables of totals. */
export class TotalsWriter {
  readonly #minute: Statement;
  readonly #keyHour: Statement;
  readonly #hour: Statement;
  readonly #keyDay: Statement;
  readonly #latencyMinute: Statement;
  readonly #latencyHour: Statement;
  readonly #key: Statement;

  constructor(database: Database) {
    const prepare = (table: string, keys: readonly string[], columns = totalColumnNames) =>
      database.query(upsertTotals(table, keys, columns));
    this.#minute = prepare("usage_minutes", ["minute", "key_no", ...byModel]);
    this.#keyHour = prepare("usage_key_hours", ["key_no", "hour", ...byModel]);
    this.#hour = prepare("usage_all_hours", ["hour", ...byModel]);
    this.#keyDay = prepare("usage_key_days", ["key_no", "day"]);
    this.#latencyMinute = prepare("latency_minutes", ["minute", ...byBand], ["requests"]);
    this.#latencyHour = prepare("latency_all_hours", ["hour", ...byBand], ["requests"]);
    this.#key = database.query(addToKey);
  }

  add({ groups, latencies, keys }: Pick<UncountedEntries, "groups" | "latencies" | "keys">): void {
    for (const { minute, keyNo, model, provider, totals } of groups) {
      const hour = Math.floor(minute / minutesPerHour);
      const values = totalNames.map((name) => totals[name]);
      this.#minute.run(minute, keyNo, model, provider, ...values);
      this.#keyHour.run(keyNo, hour, model, provider, ...values);
      this.#hour.run(hour, model, provider, ...values);
      this.#keyDay.run(keyNo, Math.floor(hour / hoursPerDay), ...values);
    }
    for (const { minute, firstByte, total } of latencies) {
      this.#addBands(minute, "first_byte", firstByte);
      this.#addBands(minute, "total", total);
    }
    for (const { keyNo, day, daySpend, spent, requests, inputTokens, outputTokens, lastCostNano } of keys) {
      this.#key.run(keyNo, day, daySpend, spent, requests, inputTokens, outputTokens, lastCostNano);
    }
  }

  #addBands(minute: number, measure: "first_byte" | "total", bands: Float64Array): void {
    for (const [index, requests] of bands.entries()) {
      if (requests === 0) continue;
      const upToMs = upperBoundMs(index);
      this.#latencyMinute.run(minute, measure, upToMs, requests);
      this.#latencyHour.run(Math.floor(minute / minutesPerHour), measure, upToMs, requests);
    }
  }
}

/** As the view `key_totals` adds the rows. */
const addToKey = `
UPDATE key_sums SET day = max(day, ?2), day_spend = iif(?2 > day, ${laterUsed("later_spend", "= ?2")}, day_spend) + iif(?2 >= day, ?3, 0), spent = spent + ?4,
  requests = requests + ?5, input_tokens = input_tokens + ?6, output_tokens = output_tokens + ?7,
  last_cost_nano = coalesce(?8, last_cost_nano)
WHERE key_no = ?1`;
