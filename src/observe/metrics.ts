import { nanoPerCredit } from "../base/money.ts";
import type { ExchangeFacts } from "./exchange.ts";
import { Exposition, type Labels } from "./exposition.ts";
import { boundsMs, Histogram } from "./histogram.ts";

/** What is only known at the moment of asking; put together by whoever serves the metrics. */
export interface Gauges {
  readonly inFlight: number;
  readonly heldCredits: number;
  readonly heldTokens: number;
  readonly eventLoopLagMs: number;
  readonly residentBytes: number;
  readonly journal: JournalGauges;
  readonly breakers: readonly {
    readonly deployment: string;
    readonly state: string;
    readonly inFlight: number;
  }[];
}

export interface JournalGauges {
  readonly batches: number;
  readonly items: number;
  readonly failedBatches: number;
  readonly lastBatchItems: number;
  readonly lastBatchMs: number;
  readonly pendingItems: number;
}

/** The counters of one route, model and provider. */
class Series {
  readonly labels: Labels;
  readonly byStatus = new Map<number, number>();
  readonly byErrorCode = new Map<string, number>();
  readonly firstByte = new Histogram();
  readonly duration = new Histogram();
  inputTokens = 0;
  cachedInputTokens = 0;
  outputTokens = 0;
  spentNano = 0;
  spentTokens = 0;
  attempts = 0;

  constructor(route: string, model: string, provider: string) {
    this.labels = [
      ["route", route],
      ["model", model],
      ["provider", provider],
    ];
  }

  add(facts: ExchangeFacts): void {
    this.byStatus.set(facts.status, (this.byStatus.get(facts.status) ?? 0) + 1);
    const code = facts.errorCode;
    if (code !== null) this.byErrorCode.set(code, (this.byErrorCode.get(code) ?? 0) + 1);
    this.duration.add(facts.totalMs);
    if (facts.firstByteMs !== null) this.firstByte.add(facts.firstByteMs);
    this.attempts += facts.attempts;
    if (facts.route.startsWith("/token/")) this.spentTokens += facts.charged;
    else this.spentNano += facts.charged;
    const { usage } = facts;
    if (usage === null) return;
    this.inputTokens += usage.inputTokens + usage.cacheWriteTokens;
    this.cachedInputTokens += usage.cachedInputTokens;
    this.outputTokens += usage.outputTokens;
  }
}

const none = "none";

/**
 * Counts every exchange. Routes, models and providers come from the configuration and never from a client,
 * so there are only so many series; finding one is three look-ups and allocates nothing.
 */
export class Metrics {
  readonly #routes = new Map<string, Map<string, Map<string, Series>>>();

  readonly observe = (facts: ExchangeFacts): void => {
    this.#seriesOf(facts.route, facts.model ?? none, facts.provider ?? none).add(facts);
  };

  render(gauges: Gauges): string {
    const out = new Exposition();
    this.#renderExchanges(out);
    renderGauges(out, gauges);
    return out.toString();
  }

  #seriesOf(route: string, model: string, provider: string): Series {
    const byModel = inner(this.#routes, route);
    const byProvider = inner(byModel, model);
    const known = byProvider.get(provider);
    if (known !== undefined) return known;
    const series = new Series(route, model, provider);
    byProvider.set(provider, series);
    return series;
  }

  #all(): Series[] {
    const models = [...this.#routes.values()].flatMap((byModel) => [...byModel.values()]);
    return models.flatMap((byProvider) => [...byProvider.values()]);
  }

  #renderExchanges(out: Exposition): void {
    const all = this.#all();
    out.family("sluice_requests_total", "counter", "Requests by the status they were answered with.");
    for (const { labels, byStatus } of all) {
      for (const [status, count] of byStatus) {
        out.sample("sluice_requests_total", [...labels, ["status", String(status)]], count);
      }
    }
    out.family("sluice_errors_total", "counter", "Requests that ended in an error, by its code.");
    for (const { labels, byErrorCode } of all) {
      for (const [code, count] of byErrorCode)
        out.sample("sluice_errors_total", [...labels, ["code", code]], count);
    }
    out.family("sluice_tokens_total", "counter", "Tokens that went through, by kind.");
    for (const { labels, inputTokens, cachedInputTokens, outputTokens } of all) {
      out.sample("sluice_tokens_total", [...labels, ["kind", "input"]], inputTokens);
      out.sample("sluice_tokens_total", [...labels, ["kind", "cached_input"]], cachedInputTokens);
      out.sample("sluice_tokens_total", [...labels, ["kind", "output"]], outputTokens);
    }
    counter(
      out,
      all,
      "sluice_spend_credits_total",
      "Credits charged.",
      (one) => one.spentNano / nanoPerCredit,
    );
    counter(out, all, "sluice_spend_tokens_total", "Tokens charged to budgets.", (one) => one.spentTokens);
    counter(out, all, "sluice_upstream_attempts_total", "Calls to providers.", (one) => one.attempts);
    histogram(out, all, "sluice_first_byte_seconds", "Time to the first byte.", (one) => one.firstByte);
    histogram(out, all, "sluice_duration_seconds", "Time to the end.", (one) => one.duration);
  }
}

function inner<Value>(outer: Map<string, Map<string, Value>>, name: string): Map<string, Value> {
  const known = outer.get(name);
  if (known !== undefined) return known;
  const made = new Map<string, Value>();
  outer.set(name, made);
  return made;
}

function counter(
  out: Exposition,
  all: readonly Series[],
  name: string,
  help: string,
  of: (series: Series) => number,
) {
  out.family(name, "counter", help);
  for (const series of all) out.sample(name, series.labels, of(series));
}

function histogram(
  out: Exposition,
  all: readonly Series[],
  name: string,
  help: string,
  of: (series: Series) => Histogram,
) {
  out.family(name, "histogram", help);
  for (const series of all) {
    if (of(series).count > 0) out.histogram(name, series.labels, boundsMs, of(series));
  }
}

function renderGauges(out: Exposition, gauges: Gauges): void {
  const gauge = (name: string, help: string, value: number) => {
    out.family(name, "gauge", help);
    out.sample(name, [], value);
  };
  gauge("sluice_in_flight", "Exchanges that are open now.", gauges.inFlight);
  out.family("sluice_held", "gauge", "What open holds have set aside.");
  out.sample("sluice_held", [["unit", "credits"]], gauges.heldCredits);
  out.sample("sluice_held", [["unit", "tokens"]], gauges.heldTokens);
  gauge("sluice_event_loop_lag_seconds", "The longest recent lag.", gauges.eventLoopLagMs / 1000);
  gauge("process_resident_memory_bytes", "Resident memory.", gauges.residentBytes);
  renderJournal(out, gauges.journal);
  out.family("sluice_breaker_state", "gauge", "1 for the state that a deployment's breaker is in.");
  for (const { deployment, state } of gauges.breakers) {
    out.sample(
      "sluice_breaker_state",
      [
        ["deployment", deployment],
        ["state", state],
      ],
      1,
    );
  }
  out.family("sluice_deployment_in_flight", "gauge", "Open calls to a deployment.");
  for (const { deployment, inFlight } of gauges.breakers) {
    out.sample("sluice_deployment_in_flight", [["deployment", deployment]], inFlight);
  }
}

function renderJournal(out: Exposition, journal: JournalGauges): void {
  const one = (name: string, type: "counter" | "gauge", help: string, value: number) => {
    out.family(name, type, help);
    out.sample(name, [], value);
  };
  one("sluice_journal_batches_total", "counter", "Batches written.", journal.batches);
  one(
    "sluice_journal_items_total",
    "counter",
    "Items written; by batches, the mean batch size.",
    journal.items,
  );
  one(
    "sluice_journal_failed_batches_total",
    "counter",
    "Batches that could not be written.",
    journal.failedBatches,
  );
  one("sluice_journal_last_batch_items", "gauge", "Items of the last batch.", journal.lastBatchItems);
  one("sluice_journal_last_batch_seconds", "gauge", "Time the last batch took.", journal.lastBatchMs / 1000);
  one("sluice_journal_pending_items", "gauge", "Items that wait to be written.", journal.pendingItems);
}
