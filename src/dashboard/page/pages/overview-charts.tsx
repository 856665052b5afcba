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
  return (
    <div class="charts">
      <Chart title="Spend" at={at} isRunning={isRunning} format={credits} lines={[spend]} />
      <Chart title="Requests" at={at} isRunning={isRunning} format={count} lines={requests} whole />
      <Chart title="Tokens" at={at} isRunning={isRunning} format={shortCount} lines={tokens} whole />
      <Latency
        title="First byte"
        at={at}
        isRunning={isRunning}
        p50={values((point) => point.first_byte_p50_ms)}
        p95={values((point) => point.first_byte_p95_ms)}
        overall={[totals.first_byte_p50_ms, totals.first_byte_p95_ms]}
      />
      <Latency
        title="Duration"
        at={at}
        isRunning={isRunning}
        p50={values((point) => point.total_p50_ms)}
        p95={values((point) => point.total_p95_ms)}
        overall={[totals.total_p50_ms, totals.total_p95_ms]}
      />
    </div>
  );
}

interface LatencyProps {
  readonly title: string;
  readonly at: readonly number[];
  readonly isRunning: boolean;
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
  readonly overall: readonly [p50: number | null, p95: number | null];
}

function Latency({ title, at, isRunning, p50, p95, overall }: LatencyProps) {
  return (
    <Chart
      title={title}
      at={at}
      isRunning={isRunning}
      format={duration}
      axis={axisDuration}
      whole
      lines={[
        { label: "p50", values: p50, colour: 1, overall: duration(overall[0]) },
        { label: "p95", values: p95, colour: 3, overall: duration(overall[1]) },
      ]}
    />
  );
}
