import { boundsMs } from "../base/duration-bands.ts";
import { nanoPerCredit } from "../base/money/money.ts";
import type { AttemptRecord } from "../base/requests/attempt.ts";
import type { ExchangeFacts } from "./exchange.ts";
import { Exposition, type Labels } from "./exposition.ts";
import { type Gauges, renderGauges } from "./metrics-gauges.ts";

/** The counters of one route, model and provider. */
class Series {
  readonly labels: Labels;
  readonly byStatus = new Map<number, number>();
  readonly byErrorCode = new Map<string, number>();
  readonly byOutcome = new Map<string, number>();
  readonly byFailure = new Map<string, number>();
  readonly firstByte = new Histogram();
  readonly duration = new Histogram();
  inputTokens = 0;
  cachedInputTokens = 0;
  outputTokens = 0;
  spentNano = 0;
  spentTokens = 0;
  listCostNano = 0;
  attempts = 0;
  /** Requests abandoned by the client after a provider was called, and not charged, by operation. */
  readonly abandonedRequests = new Map<string, number>();

  constructor(route: string, model: string, provider: string) {
    this.labels = { route, model, provider };
  }

  add(facts: ExchangeFacts): void {
    countUp(this.byStatus, facts.status);
    if (facts.errorCode !== null) countUp(this.byErrorCode, facts.errorCode);
    if (countsInReports(facts)) countUp(this.byOutcome, facts.outcome);
    if (facts.outcome === "cancelled" && facts.attempts > 0 && facts.charged === 0) {
      countUp(this.abandonedRequests, facts.stream ? "streaming" : "non_streaming");
    }
    this.duration.add(facts.totalMs);
    if (facts.firstByteMs !== null) this.firstByte.add(facts.firstByteMs);
    this.#addAnswered(facts);
    if (facts.mode === "token_budget") this.spentTokens += facts.charged;
    else this.spentNano += facts.charged;
    this.listCostNano += facts.listCostNano ?? 0;
    const { usage } = facts;
    // Like all reports, this counts the tokens of usage records. A cancelled call has none.
    if (usage === null || facts.outcome === "cancelled") return;
    this.inputTokens += usage.inputTokens + usage.cacheWriteTokens;
    this.cachedInputTokens += usage.cachedInputTokens;
    this.outputTokens += usage.outputTokens;
  }

  /** Counts the attempt that succeeded, if any; it is not among the failed ones. */
  #addAnswered({ attempts, failedAttempts, outcome }: ExchangeFacts): void {
    if (attempts === failedAttempts.length) return;
    this.attempts += 1;
    if (outcome === "failed") countUp(this.byFailure, "interrupted_response");
  }

  addUnanswered({ code, failure }: AttemptRecord): void {
    this.attempts += 1;
    // A disconnect is not a failure and has no code.
    if (code !== null && failure !== null) countUp(this.byFailure, failure);
  }
}

const none = "none";
/** Stands for all models whose names come from clients. */
const unlisted = "other";

/**
 * Counts every exchange. Routes, models and providers come from the configuration and never from a client, so the number
 * of series is bounded. Models without an entry are counted together.
 */
export class Metrics {
  readonly #routes = new Map<string, Map<string, Map<string, Series>>>();

  readonly observe = (facts: ExchangeFacts): void => {
    const { route, failedAttempts } = facts;
    const model = facts.isUnlistedModel ? unlisted : (facts.model ?? none);
    this.#seriesOf(route, model, facts.provider ?? none).add(facts);
    // The providers that failed need not include the one that answered.
    for (const attempt of failedAttempts) {
      this.#seriesOf(route, model, attempt.provider).addUnanswered(attempt);
    }
  };

  render(gauges: Gauges): string {
    const out = new Exposition();
    const all = this.#all();
    renderExchanges(out, all);
    renderProviderFailures(out, all, gauges.providers);
    renderGauges(out, gauges);
    return out.toString();
  }

  #seriesOf(route: string, model: string, provider: string): Series {
    const byProvider = inner(inner(this.#routes, route), model);
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
}

function renderExchanges(out: Exposition, all: readonly Series[]): void {
  const counter = (name: string, help: string, countOf: (series: Series) => number) =>
    out.family(
      name,
      "counter",
      help,
      all.map((series) => [series.labels, countOf(series)]),
    );
  const counterBy = (
    label: string,
    name: string,
    help: string,
    valuesOf: (series: Series) => Iterable<readonly [string | number, number]>,
  ) => {
    const samples = all.flatMap((series) =>
      Array.from(
        valuesOf(series),
        ([value, count]) => [{ ...series.labels, [label]: String(value) }, count] as const,
      ),
    );
    out.family(name, "counter", help, samples);
  };
  const histogram = (name: string, help: string, histogramOf: (series: Series) => Histogram) => {
    const counted = all.filter((series) => histogramOf(series).count > 0);
    out.histogram(
      name,
      help,
      boundsMs,
      counted.map((series) => [series.labels, histogramOf(series)]),
    );
  };
  const requests = "Requests by HTTP status.";
  counterBy("status", "sluice_requests_total", requests, (series) => series.byStatus);
  const exchanges = "Requests with a valid key by outcome, as in reports.";
  counterBy("outcome", "sluice_request_outcomes_total", exchanges, (series) => series.byOutcome);
  const left =
    "Requests that the client abandoned after a provider was called and before anything could be charged.";
  counterBy("form", "sluice_abandoned_requests_total", left, (series) => series.abandonedRequests);
  const failures = "Failed upstream calls by reason.";
  counterBy("failure", "sluice_upstream_failures_total", failures, (series) => series.byFailure);
  const errors = "Requests that ended in an error, by error code.";
  counterBy("code", "sluice_errors_total", errors, (series) => series.byErrorCode);
  counterBy("kind", "sluice_tokens_total", "Tokens in usage records by kind.", (series) => [
    ["input", series.inputTokens],
    ["cached_input", series.cachedInputTokens],
    ["output", series.outputTokens],
  ]);
  const spend = "Credits charged, including cancelled requests.";
  counter("sluice_spend_credits_total", spend, ({ spentNano }) => spentNano / nanoPerCredit);
  counter("sluice_spend_tokens_total", "Tokens charged to token budgets.", ({ spentTokens }) => spentTokens);
  const listCost = "List cost of requests with token-budget keys, in credits.";
  counter("sluice_list_cost_credits_total", listCost, ({ listCostNano }) => listCostNano / nanoPerCredit);
  counter("sluice_upstream_attempts_total", "Upstream calls.", ({ attempts }) => attempts);
  histogram(
    "sluice_time_to_first_byte_seconds",
    "Time to the first byte of the response, in seconds.",
    ({ firstByte }) => firstByte,
  );
  histogram(
    "sluice_request_duration_seconds",
    "Time to the end of the response, in seconds.",
    ({ duration }) => duration,
  );
}

/**
 * `increase()` of a series that begins above 0 is 0, so a rule would miss the first failures between two scrapes. These
 * are at 0 from the start.
 */
const failuresFromZero: readonly string[] = [
  ...["billing", "no_credential", "status_401", "status_403", "status_404"],
  ...["status_429", "status_500", "status_502", "status_503", "timeout", "unreachable", "connection_closed"],
];

function renderProviderFailures(out: Exposition, all: readonly Series[], providers: readonly string[]): void {
  const byProvider = new Map(
    providers.map((name) => [name, new Map(failuresFromZero.map((failure) => [failure, 0]))]),
  );
  for (const { labels, byFailure } of all) {
    if (byFailure.size === 0) continue;
    const counts = inner(byProvider, labels["provider"] ?? none);
    for (const [failure, count] of byFailure) counts.set(failure, (counts.get(failure) ?? 0) + count);
  }
  const samples = [...byProvider].flatMap(([provider, counts]) =>
    Array.from(counts, ([failure, count]) => [{ provider, failure }, count] as const),
  );
  const help = "Failed upstream calls by provider and reason, common reasons from 0.";
  out.family("sluice_provider_failures_total", "counter", help, samples);
}

const newMap = () => new Map<string, never>();

function inner<Value>(outer: Map<string, Map<string, Value>>, name: string): Map<string, Value> {
  return outer.getOrInsertComputed(name, newMap);
}

function countUp<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Counts durations by bucket. Adding one allocates nothing, because every request does it. */
class Histogram {
  readonly counts = new Float64Array(boundsMs.length + 1);
  sumMs = 0;
  count = 0;

  add(tookMs: number): void {
    let bucket = 0;
    // Both casts are true because the index stays within the array.
    while (bucket < boundsMs.length && tookMs > (boundsMs[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sumMs += tookMs;
    this.count += 1;
  }
}

/**
 * Whether the exchange is stored, counted in reports and found by operators. It needs a key. A completed exchange
 * without usage was not a generation, but e.g. a list of models.
 */
export function countsInReports({ keyId, outcome, usage }: ExchangeFacts): boolean {
  return keyId !== null && outcome !== "replayed" && !(outcome === "completed" && usage === null);
}
