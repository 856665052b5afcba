import { creditsFromNano } from "../../base/money.ts";
import { quantileMs } from "../../observe/histogram.ts";
import type { LatencyBand, StepSums } from "../../store/store.ts";
import type { AdminDeps, OpenExchange } from "../deps.ts";
import type {
  InFlightView,
  OverviewPointView,
  OverviewRange,
  OverviewView,
  SumsView,
  UsageRowView,
} from "../views.ts";
import { Kept } from "./kept.ts";
import { lastHour } from "./last-hour.ts";
import { usageRow } from "./usage.ts";

const msPerHour = 3_600_000;
const topCount = 5;
const oldestCount = 5;

interface Span {
  readonly hours: number;
  readonly stepHours: number;
}

const spans: Readonly<Record<Exclude<OverviewRange, "1h">, Span>> = {
  "24h": { hours: 24, stepHours: 1 },
  "7d": { hours: 168, stepHours: 6 },
  "30d": { hours: 720, stepHours: 24 },
};

/** What a chart needs: its points, their sum, and the sum of the same time before. */
export interface Charted {
  readonly stepSeconds: number;
  readonly points: OverviewPointView[];
  readonly totals: SumsView;
  readonly before: OverviewView["before"];
}

/** How long the largest keys are kept: over a month they change slowly, and adding them up is dear. */
const topKeysKeptMs: Readonly<Record<OverviewRange, number>> = {
  "1h": 1_000,
  "24h": 1_000,
  "7d": 15_000,
  "30d": 60_000,
};

export class Overview {
  readonly #deps: AdminDeps;
  readonly #topKeys: Kept<UsageRowView[]>;

  constructor(deps: AdminDeps) {
    this.#deps = deps;
    this.#topKeys = new Kept(deps.clock);
  }

  async of(range: OverviewRange): Promise<OverviewView> {
    const deps = this.#deps;
    const untilMs = deps.clock.wallMs();
    const sinceMs = untilMs - (range === "1h" ? 1 : spans[range].hours) * msPerHour;
    const [charted, models, topKeys] = await Promise.all([
      range === "1h" ? lastHour(deps) : inHours(deps, spans[range]),
      deps.store.reports.topBy("model", { sinceMs, untilMs, limit: topCount }),
      this.#topKeys.get(range, topKeysKeptMs[range], () => topKeysOf(deps, sinceMs, untilMs)),
    ]);
    return {
      range,
      step_seconds: charted.stepSeconds,
      points: charted.points,
      totals: charted.totals,
      before: charted.before,
      top_models: models.map((row) => usageRow(row.group, row.group, row)),
      top_keys: topKeys,
      in_flight: deps.inFlight(),
      oldest_in_flight: deps.oldestExchanges(oldestCount).map(inFlightView),
    };
  }
}

function inFlightView({ id, keyPrefix, model, route, stream, ageMs }: OpenExchange): InFlightView {
  return { id, key_prefix: keyPrefix, model, route, stream, age_ms: ageMs };
}

async function topKeysOf(deps: AdminDeps, sinceMs: number, untilMs: number): Promise<UsageRowView[]> {
  const rows = await deps.store.reports.topKeys({ sinceMs, untilMs, limit: topCount });
  return rows.map((row) => {
    const key = deps.keys.byId(row.group);
    return usageRow(row.group, key?.label ?? key?.prefix ?? row.group, row);
  });
}

async function inHours({ store, clock }: AdminDeps, { hours, stepHours }: Span): Promise<Charted> {
  const lastStep = Math.floor(clock.wallMs() / (stepHours * msPerHour));
  const firstStep = lastStep - hours / stepHours + 1;
  const stepMs = stepHours * msPerHour;
  const range = { sinceMs: firstStep * stepMs, untilMs: (lastStep + 1) * stepMs, stepHours };
  const earlier = { sinceMs: range.sinceMs - hours * msPerHour, untilMs: range.sinceMs, stepHours };
  const [sums, bands, sumsBefore] = await Promise.all([
    store.reports.usageInSteps(range),
    store.reports.latencyInSteps(range),
    store.reports.usageInSteps(earlier),
  ]);
  const byStep = new Map(sums.map((one) => [one.step, one]));
  const points = Array.from({ length: lastStep - firstStep + 1 }, (_, place) => {
    const step = firstStep + place;
    const own = byStep.get(step);
    const figures = plain(own === undefined ? [] : [own]);
    return {
      at: (step * stepMs) / 1000,
      ...figures,
      ...percentiles(bands.filter((band) => band.step === step)),
    };
  });
  return {
    stepSeconds: stepMs / 1000,
    points,
    totals: { ...plain(sums), ...percentiles(merged(bands)) },
    before: plain(sumsBefore),
  };
}

function plain(all: readonly StepSums[]): OverviewView["before"] {
  const sum = (pick: (one: StepSums) => number) => all.reduce((total, one) => total + pick(one), 0);
  return {
    requests: sum((one) => one.requests),
    errors: sum((one) => one.failures),
    input_tokens: sum((one) => one.inputTokens),
    output_tokens: sum((one) => one.outputTokens),
    spend: creditsFromNano(sum((one) => one.costNano)),
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

/** The bands of all steps added up, in order. */
function merged(bands: readonly LatencyBand[]): Band[] {
  const sums = new Map<string, { measure: Band["measure"]; upToMs: number; requests: number }>();
  for (const { measure, upToMs, requests } of bands) {
    const name = `${measure} ${upToMs}`;
    const known = sums.get(name);
    if (known === undefined) sums.set(name, { measure, upToMs, requests });
    else known.requests += requests;
  }
  return [...sums.values()].sort((a, b) => a.upToMs - b.upToMs);
}
