import { useMemo } from "preact/hooks";
import type { OverviewPointView, OverviewView } from "../../../admin/views.ts";
import { count, credits, duration, percent, shortCount } from "../format.ts";
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
        summary={`${credits(totals.spend)} credits`}
        format={short}
        lines={[{ label: "credits", values: values((point) => point.spend), colour: 1, shape: "bars" }]}
      />
      <Chart
        title="Requests"
        at={at}
        summary={`${count(totals.requests)}, ${percent(totals.errors, totals.requests)} failed`}
        format={short}
        lines={[
          { label: "all", values: values((point) => point.requests), colour: 1, shape: "area" },
          { label: "failed", values: values((point) => point.errors), colour: 4, shape: "area" },
        ]}
      />
      <Chart
        title="Tokens"
        at={at}
        summary={`${shortCount(totals.input_tokens)} in, ${shortCount(totals.output_tokens)} out`}
        format={shortCount}
        lines={[
          { label: "input", values: values((point) => point.input_tokens), colour: 1, shape: "area" },
          { label: "output", values: values((point) => point.output_tokens), colour: 2, shape: "area" },
        ]}
      />
      <Chart
        title="Time to first byte"
        at={at}
        summary={`p50 ${duration(totals.first_byte_p50_ms)}, p95 ${duration(totals.first_byte_p95_ms)}`}
        format={duration}
        lines={[
          { label: "p50", values: values((point) => point.first_byte_p50_ms), colour: 1 },
          { label: "p95", values: values((point) => point.first_byte_p95_ms), colour: 3 },
        ]}
      />
      <Chart
        title="Duration"
        at={at}
        summary={`p50 ${duration(totals.total_p50_ms)}, p95 ${duration(totals.total_p95_ms)}`}
        format={duration}
        lines={[
          { label: "p50", values: values((point) => point.total_p50_ms), colour: 1 },
          { label: "p95", values: values((point) => point.total_p95_ms), colour: 3 },
        ]}
      />
    </div>
  );
}
