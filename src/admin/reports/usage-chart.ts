import { msPerDay, msPerHour } from "../../base/clock.ts";
import {
  type GroupedTotals,
  type GroupPageQuery,
  type Reports,
  sumTotals,
  totalsWithout,
  type UsageTotals,
} from "../../store/store.ts";
import type { ChartStep, UsageChartView } from "./schema.ts";
import { usageTotalsView } from "./usage-totals-view.ts";

type ChartQuery = Omit<GroupPageQuery, "order" | "skip" | "limit">;

interface ChartRequest {
  /** No dimension of time. */
  readonly by: readonly string[];
  readonly step: ChartStep;
  readonly namesOf: Namer;
  /** The largest groups, if the report has read them: as many as there are, or eight. */
  readonly largest: readonly GroupedTotals[] | undefined;
}

/** The largest groups have a series of their own; the rest is one more. */
export const largestGroups = 8;
const thursdayToMonday = 3 * msPerDay;

/** The largest groups over time, and the total of the period before, for comparison. */
export async function usageChart(
  reports: Reports,
  { by, step, namesOf, largest: known }: ChartRequest,
  query: ChartQuery,
): Promise<UsageChartView> {
  const { sinceMs, untilMs } = query;
  const start = stepStart[step];
  const steps = stepsBetween(start, step, sinceMs, untilMs);
  const earlier = { ...query, sinceMs: Math.max(0, 2 * sinceMs - untilMs), untilMs: sinceMs };
  const unit = step === "hour" ? "hour" : "day";
  const largest =
    by.length === 0 ? [] : (known ?? (await largestOf(reports, by, query))).slice(0, largestGroups);
  const unitMs = unit === "hour" ? msPerHour : msPerDay;
  const series = largest.map(({ groups }) => groups);
  const ofSeries = await reports.usageSeries(by, { ...query, step: unit, series });
  const ofAll = await reports.usageInSteps({ ...query, stepMs: unitMs });
  const before = await reports.usageInSteps({ ...earlier, stepMs: unitMs });
  const nameOf = await namesOf(largest, by);
  const perStep = (rows: readonly (UsageTotals & { readonly startMs: number })[]) => {
    const byStep = Map.groupBy(rows, ({ startMs }) => start(startMs));
    return steps.map((ms) => sumTotals(byStep.get(ms) ?? []));
  };
  const parts = series.map((_, place) => perStep(ofSeries.filter((row) => row.place === place)));
  const rest = perStep(ofAll).map((whole, at) =>
    totalsWithout(whole, sumTotals(parts.map((part) => part[at] ?? whole))),
  );
  const earlierSteps = stepsBetween(start, step, earlier.sinceMs, earlier.untilMs);
  return {
    step,
    at: steps.map((ms) => ms / 1000),
    series: [
      ...series.map((values, place) => ({
        group: values.map((value) => value ?? ""),
        name: values.map(nameOf).join(", "),
        points: (parts[place] ?? []).map(pointOf),
      })),
      ...(by.length > 0 && rest.every(isEmpty)
        ? []
        : [{ group: null, name: by.length === 0 ? "all" : "the rest", points: rest.map(pointOf) }]),
    ],
    before: steps.map((_, at) =>
      pointOf(sumTotals(before.filter(({ startMs }) => start(startMs) === earlierSteps[at]))),
    ),
    before_total: usageTotalsView(sumTotals(before)),
  };
}

/** Display names of the values of these groups. */
type Namer = (
  groups: readonly GroupedTotals[],
  by: readonly string[],
) => Promise<(value: string | null) => string>;

const stepStart: Readonly<Record<ChartStep, (ms: number) => number>> = {
  hour: (ms) => Math.floor(ms / msPerHour) * msPerHour,
  day: (ms) => Math.floor(ms / msPerDay) * msPerDay,
  week: (ms) => Math.floor((ms + thursdayToMonday) / (7 * msPerDay)) * 7 * msPerDay - thursdayToMonday,
};

const stepMs: Readonly<Record<ChartStep, number>> = { hour: msPerHour, day: msPerDay, week: 7 * msPerDay };

function stepsBetween(
  start: (ms: number) => number,
  step: ChartStep,
  sinceMs: number,
  untilMs: number,
): number[] {
  const first = start(sinceMs);
  return Array.from(
    { length: Math.ceil((untilMs - first) / stepMs[step]) },
    (_, place) => first + place * stepMs[step],
  );
}

async function largestOf(reports: Reports, by: readonly string[], query: ChartQuery) {
  const { groups } = await reports.usagePage(by, { ...query, order: "worth", skip: 0, limit: largestGroups });
  return groups;
}

function isEmpty({ requests, spendNano, spendTokens }: UsageTotals): boolean {
  return requests === 0 && spendNano === 0 && spendTokens === 0;
}

function pointOf(totals: UsageTotals): UsageChartView["before"][number] {
  const { spend, list_cost, recorded_requests, input_tokens, output_tokens, cached_input_tokens } =
    usageTotalsView(totals);
  return { spend, list_cost, recorded_requests, input_tokens, output_tokens, cached_input_tokens };
}

/** More points than this are too small to see, and expensive to add up. */
const maxSteps = 800;

/** The smallest step that a range has room for. */
export function stepFor(wanted: ChartStep, sinceMs: number, untilMs: number): ChartStep {
  const steps = ["hour", "day", "week"] as const;
  const fits = (step: ChartStep) => (untilMs - sinceMs) / stepMs[step] <= maxSteps;
  return steps.slice(steps.indexOf(wanted)).find(fits) ?? "week";
}
