import { msPerDay, msPerHour } from "../../base/clock.ts";
import {
  type GroupedTotals,
  type GroupPageQuery,
  type Reports,
  sumTotals,
  type UsageTotals,
} from "../../store/store.ts";
import type { ChartStep, UsageChartView } from "./schema.ts";
import { usageTotalsView } from "./usage-totals-view.ts";

type ChartQuery = Omit<GroupPageQuery, "order" | "skip" | "limit">;

/** The largest groups have a series of their own; the rest is one more. */
const largestGroups = 8;
const thursdayToMonday = 3 * msPerDay;

/** The largest groups over time, and the total of the period before, for comparison. `by` has no dimension of time. */
export async function usageChart(
  reports: Reports,
  { by, step, namesOf }: { by: readonly string[]; step: ChartStep; namesOf: Namer },
  query: ChartQuery,
): Promise<UsageChartView> {
  const { sinceMs, untilMs } = query;
  const start = stepStart[step];
  const steps = stepsBetween(start, step, sinceMs, untilMs);
  const earlier = { ...query, sinceMs: Math.max(0, 2 * sinceMs - untilMs), untilMs: sinceMs };
  const unit = step === "hour" ? "hour" : "day";
  const largest = by.length === 0 ? [] : await largestOf(reports, by, query);
  const all = { order: "name", skip: 0, limit: Number.POSITIVE_INFINITY } as const;
  const { groups } = await reports.usagePage([unit, ...by], { ...query, ...all });
  const before = await reports.usageInSteps({ ...earlier, stepMs: unit === "hour" ? msPerHour : msPerDay });
  const nameOf = await namesOf(largest, by);
  // The last one is the rest, or everything without a grouping.
  const series = [...largest.map((group) => group.groups), by.length === 0 ? [] : null];
  const places = new Map(series.map((values, place) => [JSON.stringify(values), place]));
  const placeOfStep = new Map(steps.map((ms, place) => [ms, place]));
  const cells: UsageTotals[][][] = series.map(() => steps.map(() => []));
  for (const {
    groups: [time, ...values],
    ...totals
  } of groups) {
    const place = places.get(JSON.stringify(values)) ?? series.length - 1;
    const at = placeOfStep.get(start(Date.parse(time ?? "")));
    if (at !== undefined) cells[place]?.[at]?.push(totals);
  }
  const earlierSteps = stepsBetween(start, step, earlier.sinceMs, earlier.untilMs);
  return {
    step,
    at: steps.map((ms) => ms / 1000),
    series: series.flatMap((values, place) => {
      const sums = (cells[place] ?? []).map(sumTotals);
      if (values === null && sums.every(isEmpty)) return [];
      const name = values === null ? "the rest" : values.length === 0 ? "all" : values.map(nameOf).join(", ");
      return [
        {
          group: values === null || values.length === 0 ? null : values.map((value) => value ?? ""),
          name,
          points: sums.map(pointOf),
        },
      ];
    }),
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
