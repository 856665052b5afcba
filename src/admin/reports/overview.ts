import { assert } from "../../base/assert.ts";
import { msPerHour, msPerMinute } from "../../base/clock.ts";
import { boundsMs } from "../../base/duration-bands.ts";
import { type LatencyBand, type StepQuery, sumTotals, type TimeRange } from "../../store/store.ts";
import type { AdminDeps } from "../deps.ts";
import { chosenRange, iso, pastMoment } from "../moments.ts";
import type { OverviewRange, OverviewView, SumsView, UsageRowView } from "./schema.ts";
import { usageRow, usageTotalsView } from "./usage-totals-view.ts";

const topCount = 5;
const oldestCount = 5;

interface Span {
  /** The width of one point of a chart. */
  readonly stepMs: number;
  /** How long the top keys are cached for all viewers: totals of ten thousand keys over a month are slow to compute. */
  readonly topKeysCachedMs: number;
}

const spans: Readonly<Record<OverviewRange, Span>> = {
  "1h": { stepMs: msPerMinute, topKeysCachedMs: 1_000 },
  "24h": { stepMs: msPerHour, topKeysCachedMs: 1_000 },
  "7d": { stepMs: 6 * msPerHour, topKeysCachedMs: 2_000 },
  "30d": { stepMs: 24 * msPerHour, topKeysCachedMs: 5_000 },
};

export function overviews(deps: AdminDeps): (range: OverviewRange) => Promise<OverviewView> {
  const cachedKeys = new Map<OverviewRange, { rows: Promise<UsageRowView[]>; madeAtMs: number }>();

  /** Concurrent callers share one promise. */
  function topKeysOf(range: OverviewRange, query: TimeRange): Promise<UsageRowView[]> {
    const madeAtMs = deps.clock.monotonicMs();
    const cached = cachedKeys.get(range);
    if (cached !== undefined && madeAtMs - cached.madeAtMs < spans[range].topKeysCachedMs) return cached.rows;
    const rows = topRows(deps, "key", query);
    cachedKeys.set(range, { rows, madeAtMs });
    rows.catch(() => cachedKeys.delete(range));
    return rows;
  }

  return async (range) => {
    const span = spans[range];
    const nowMs = deps.clock.wallMs();
    const chosen = chosenRange(pastMoment(range, nowMs) ?? undefined, undefined, nowMs);
    assert(chosen !== null, "a range of the overview ends now");
    const query = { ...chosen, stepMs: span.stepMs };
    const [charted, models, topKeys] = await Promise.all([
      chart(deps, query),
      topRows(deps, "model", query),
      topKeysOf(range, query),
    ]);
    return {
      range,
      since: iso(query.sinceMs),
      until: iso(query.untilMs),
      step_seconds: span.stepMs / 1000,
      ...charted,
      top_models: models,
      top_keys: topKeys,
      in_flight: deps.inFlight(),
      oldest_in_flight: [...deps.oldestExchanges(oldestCount)],
    };
  };
}

async function topRows(deps: AdminDeps, by: "model" | "key", range: TimeRange): Promise<UsageRowView[]> {
  const { sinceMs, untilMs } = range;
  // One more than is shown, because requests rejected before their model was known have no name and are dropped.
  const largest = topCount + 1;
  const rows = await deps.store.reports.usageBy(by, { sinceMs, untilMs, largest });
  return rows
    .filter(({ group }) => group !== "")
    .slice(0, topCount)
    .map(({ group, ...figures }) => usageRow(group, by === "key" ? keyName(deps, group) : group, figures));
}

function keyName({ keys }: AdminDeps, id: string): string {
  const key = keys.byId(id);
  return key?.label ?? key?.prefix ?? id;
}

type ChartData = Pick<OverviewView, "points" | "totals" | "before">;

/** Points aligned to the calendar (the range may cut the first and the last), their totals, and the totals of the period before. */
async function chart({ store }: AdminDeps, query: StepQuery): Promise<ChartData> {
  const { sinceMs, untilMs, stepMs } = query;
  const earlier = { ...query, sinceMs: 2 * sinceMs - untilMs, untilMs: sinceMs };
  const [steps, bands, before] = await Promise.all([
    store.reports.usageInSteps(query),
    store.reports.latencyInSteps(query),
    store.reports.usageInSteps(earlier),
  ]);
  const byStart = new Map(steps.map(({ startMs, ...figures }) => [startMs, figures]));
  const [first, end] = [Math.floor(sinceMs / stepMs), Math.ceil(untilMs / stepMs)];
  const points = Array.from({ length: end - first }, (_, place) => {
    const startMs = (first + place) * stepMs;
    const figures = byStart.get(startMs) ?? sumTotals([]);
    return {
      at: startMs / 1000,
      ...usageTotalsView(figures),
      ...percentiles(bands.filter((band) => band.startMs === startMs)),
    };
  });
  return {
    points,
    totals: { ...usageTotalsView(sumTotals(steps)), ...percentiles(merged(bands)) },
    before: usageTotalsView(sumTotals(before)),
  };
}

type Percentiles = Pick<
  SumsView,
  "first_byte_p50_ms" | "first_byte_p95_ms" | "total_p50_ms" | "total_p95_ms"
>;

type Band = Pick<LatencyBand, "measure" | "upToMs" | "requests">;

function percentiles(bands: readonly Band[]): Percentiles {
  const firstByte = bands.filter((band) => band.measure === "first_byte");
  const total = bands.filter((band) => band.measure === "total");
  return {
    first_byte_p50_ms: quantileMs(0.5, firstByte),
    first_byte_p95_ms: quantileMs(0.95, firstByte),
    total_p50_ms: quantileMs(0.5, total),
    total_p95_ms: quantileMs(0.95, total),
  };
}

/** The bands of all steps summed, in order. */
function merged(bands: readonly LatencyBand[]): Band[] {
  const sums = new Map<string, { measure: Band["measure"]; upToMs: number; requests: number }>();
  for (const { measure, upToMs, requests } of bands) {
    const sum = sums.getOrInsertComputed(`${measure} ${upToMs}`, () => ({ measure, upToMs, requests: 0 }));
    sum.requests += requests;
  }
  return [...sums.values()].sort((a, b) => a.upToMs - b.upToMs);
}

/**
 * Estimates a quantile from the counts of buckets. Within a bucket, durations are assumed to be spread evenly. For the
 * open-ended bucket the result is its lower bound.
 */
export function quantileMs(
  share: number,
  buckets: readonly { upToMs: number; requests: number }[],
): number | null {
  const total = buckets.reduce((sum, bucket) => sum + bucket.requests, 0);
  if (total === 0) return null;
  let left = share * total;
  for (const { upToMs, requests } of buckets) {
    const fromMs = lowerBoundMs(upToMs);
    if (left <= requests && requests > 0) {
      return boundsMs.includes(upToMs) ? fromMs + (upToMs - fromMs) * (left / requests) : fromMs;
    }
    left -= requests;
  }
  return boundsMs.at(-1) ?? null;
}

function lowerBoundMs(upToMs: number): number {
  const bucket = boundsMs.indexOf(upToMs);
  return bucket === -1 ? (boundsMs.at(-1) ?? 0) : (boundsMs[bucket - 1] ?? 0);
}
