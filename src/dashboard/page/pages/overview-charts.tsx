import { useMemo } from "preact/hooks";
import type { OverviewPointView, OverviewView } from "../../../admin/views.ts";
import { count, credits, duration, shortCount } from "../format.ts";
import { Chart } from "../parts/chart.tsx";

function short(value: number): string {
  return value >= 1000 ? shortCount(value) : String(Math.round(value * 10_000) / 10_000);
}

export function OverviewCharts({ overview }: { overview: OverviewView }) {
  const { points, totals } = overview;
  const at = useMemo(() => points.map((point) => point.at), [points]);
  const values = (pick: (point: OverviewPointView) => number | null) => points.map(pick);
  return (
    <div class="charts">
      <Chart
        title="Spend"
        at={at}
        format={short}
        lines={[
          {
            label: "credits",
            values: values((point) => point.spend),
            colour: 1,
            shape: "bars",
            overall: credits(totals.spend),
          },
        ]}
      />
      <Chart
        title="Requests"
        at={at}
        format={short}
        lines={[
          {
            label: "recorded",
            values: values((point) => point.requests),
            colour: 1,
            shape: "area",
            overall: count(totals.requests),
          },
          {
            label: "failed",
            values: values((point) => point.failed),
            colour: 4,
            shape: "area",
            overall: count(totals.failed),
          },
          {
            label: "refused",
            values: values((point) => point.refused),
            colour: 3,
            shape: "area",
            overall: count(totals.refused),
          },
        ]}
      />
      <Chart
        title="Tokens"
        at={at}
        format={shortCount}
        lines={[
          {
            label: "input",
            values: values((point) => point.input_tokens),
            colour: 1,
            shape: "area",
            overall: shortCount(totals.input_tokens),
          },
          {
            label: "output",
            values: values((point) => point.output_tokens),
            colour: 2,
            shape: "area",
            overall: shortCount(totals.output_tokens),
          },
        ]}
      />
      <Latency
        title="First byte"
        at={at}
        p50={values((point) => point.first_byte_p50_ms)}
        p95={values((point) => point.first_byte_p95_ms)}
        overall={[totals.first_byte_p50_ms, totals.first_byte_p95_ms]}
      />
      <Latency
        title="Duration"
        at={at}
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
  readonly p50: readonly (number | null)[];
  readonly p95: readonly (number | null)[];
  readonly overall: readonly [p50: number | null, p95: number | null];
}

function Latency({ title, at, p50, p95, overall }: LatencyProps) {
  return (
    <Chart
      title={title}
      at={at}
      format={duration}
      lines={[
        { label: "p50", values: p50, colour: 1, overall: duration(overall[0]) },
        { label: "p95", values: p95, colour: 3, overall: duration(overall[1]) },
      ]}
    />
  );
}
