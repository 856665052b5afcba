import { useMemo } from "preact/hooks";
import type { OverviewPointView, OverviewView } from "../../../admin/views.ts";
import { axisDuration, count, credits, duration, shortCount } from "../format.ts";
import { Chart, type Line } from "../parts/chart.tsx";

/** The figures of a point that are summed up, and so have a total. */
type SummedFigure = "spend" | "requests" | "failed" | "refused" | "input_tokens" | "output_tokens";

/** A step in which nothing ended is a gap, not a 0 that was measured. */
function hadCalls(point: OverviewPointView): boolean {
  return point.requests + point.failed + point.refused + point.cancelled + point.interrupted > 0;
}

export function OverviewCharts({ overview }: { overview: OverviewView }) {
  const { points, totals } = overview;
  const at = useMemo(() => points.map((point) => point.at), [points]);
  const values = (pick: (point: OverviewPointView) => number | null) => points.map(pick);
  const isRunning = Date.parse(overview.until) / 1000 < (at.at(-1) ?? 0) + overview.step_seconds;
  const area = (label: string, figure: SummedFigure, colour: Line["colour"], format = count): Line => ({
    label,
    values: values((point) => (hadCalls(point) ? point[figure] : null)),
    colour,
    shape: "area",
    overall: format(totals[figure]),
  });
  const spend: Line = { ...area("credits", "spend", 1, credits), shape: "bars" };
  const requests = [
    area("recorded", "requests", 1),
    area("failed", "failed", 4),
    area("refused", "refused", 3),
  ];
  const tokens = [
    area("input", "input_tokens", 1, shortCount),
    area("output", "output_tokens", 2, shortCount),
  ];
  const percentile = (measure: "first_byte" | "total", label: "p50" | "p95"): Line => ({
    label,
    values: values((point) => point[`${measure}_${label}_ms`]),
    colour: label === "p50" ? 1 : 3,
    overall: duration(totals[`${measure}_${label}_ms`]),
  });
  const latency = (title: string, measure: "first_byte" | "total") => {
    const lines = [percentile(measure, "p50"), percentile(measure, "p95")];
    return <Chart {...{ title, at, isRunning, lines }} format={duration} axis={axisDuration} whole />;
  };
  return (
    <div class="charts">
      <Chart title="Spend" at={at} isRunning={isRunning} format={credits} lines={[spend]} />
      <Chart title="Requests" at={at} isRunning={isRunning} format={count} lines={requests} whole />
      <Chart title="Tokens" at={at} isRunning={isRunning} format={shortCount} lines={tokens} whole />
      {latency("First byte", "first_byte")}
      {latency("Duration", "total")}
    </div>
  );
}
