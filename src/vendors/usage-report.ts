import { dateOfDay } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";

/**
 * The metrics of a vendor's bill, in display order. `input` is all input; `cached` and `cache_writes` are parts of it.
 * The cost is in nano-USD.
 */
export const reportMetrics = ["requests", "input", "cached", "cache_writes", "output", "cost"] as const;
export type ReportMetric = (typeof reportMetrics)[number];

/** A missing metric is not reported. */
export type ReportMetrics = { readonly [Name in ReportMetric]?: number | undefined };

/** The billed amounts of a day (UTC, since 1970) and model; null if not broken down by model. */
export interface UsageReportLine {
  readonly day: number;
  readonly model: string | null;
  readonly figures: ReportMetrics;
}

/** A vendor's usage and cost reports: pages of buckets of results. */
export interface VendorUsageReports {
  /** The reports to request. */
  readonly reports: readonly UsageReport[];
  /** Headers of a request for them. */
  headers(adminKey: string): Readonly<Record<string, string>>;
}

export interface UsageReport {
  /** Display name, such as `OpenAI's usage`. */
  readonly name: string;
  readonly metrics: readonly ReportMetric[];
  /** The path of a page of the report, for whole UTC days. `page` is the previous page's cursor; null for the first. */
  path(fromDay: number, throughDay: number, page: string | null): string;
  /** Whether a result is from this report. */
  recognises(result: JsonObject, bucket: JsonObject): boolean;
  dayOf(bucket: JsonObject): number;
  read(result: JsonObject): Omit<UsageReportLine, "day">;
}

/** A report that cannot be understood, in a sentence for the operator. */
export class UnreadableReport extends Error {
  override readonly name = "UnreadableBill";
}

export function readCount(object: JsonObject, name: string): number {
  const value = object[name] ?? 0;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new UnreadableReport(`${name} is ${JSON.stringify(value)}, but must be a count.`);
}

const nanoPerUsd = 1_000_000_000;
/** Ten times what a double adds up exactly in nano-USD is implausible for one day. */
const maxUsd = 1_000_000;

/**
 * An amount as a number or a decimal text, in units of which `unitsPerUsd` are a dollar. Credits to the customer are
 * below 0.
 */
export function nanoUsd(amount: unknown, unitsPerUsd = 1): number {
  const isAmount =
    typeof amount === "number" || (typeof amount === "string" && /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(amount));
  const usd = isAmount ? Number(amount) / unitsPerUsd : Number.NaN;
  if (Math.abs(usd) <= maxUsd) return Math.round(usd * nanoPerUsd);
  throw new UnreadableReport(`an amount is ${JSON.stringify(amount)}, but must be a number.`);
}

export function rejectOtherCurrencies(currency: unknown): void {
  if (typeof currency === "string" && currency.toUpperCase() === "USD") return;
  throw new UnreadableReport(`a cost is in ${JSON.stringify(currency)}; only USD can be compared.`);
}

/** The moment at which a day begins, as vendors write it. */
export function isoDay(day: number): string {
  return `${dateOfDay(day)}T00:00:00Z`;
}

export function withQuery(path: string, query: Readonly<Record<string, string | null>>): string {
  const present = Object.entries(query).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as [string, string]],
  );
  return `${path}?${new URLSearchParams(present)}`;
}
