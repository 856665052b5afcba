import { useRef } from "preact/hooks";
import type { UsageChartView } from "../../../admin/reports/schema.ts";
import { dayAndMonth, timeOfStep } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { choicesOf } from "../parts/choose.tsx";
import { savePicture } from "../parts/save-picture.ts";
import { Segmented } from "../parts/segmented.tsx";
import { StackedChart } from "../parts/stacked-chart.tsx";
import { parameter } from "../router.ts";
import { colorOf, measureNamed, measures } from "./measures.ts";

interface UsageChartProps {
  readonly chart: UsageChartView;
  /** The group that is pointed at in the table or here. */
  readonly pointed: string | null;
  readonly onPoint: (name: string | null) => void;
  /** The only group to show; null for all. */
  readonly only: string | null;
  /** A limit of each step, in credits or tokens. */
  readonly limit: { readonly value: number; readonly text: string } | null;
}

const stepNames = { hour: "Hour", day: "Day", week: "Week" };

export function UsageChart({ chart, pointed, onPoint, only, limit }: UsageChartProps) {
  const svg = useRef<SVGSVGElement | null>(null);
  const [measureName, setMeasure] = parameter("measure");
  const [, setStep] = parameter("step");
  const measure = measureNamed(measureName);
  const stacks = chart.series
    .map(({ group, name, points }, place) => ({
      name,
      color: colorOf(place, group === null && chart.series.length > 1),
      values: points.map(measure.of),
    }))
    .filter(({ name }) => only === null || name === only);
  const before = only === null ? chart.before.map(measure.of) : [];
  return (
    <section class="card usage-chart">
      <header class="line">
        <div>
          <h2>
            {measure.text} by {chart.step}
          </h2>
          <small class="muted">
            {measure.unit} · UTC
            {before.some((value) => value > 0) && " · dashed: the period before"}
          </small>
        </div>
        <Segmented
          label="Measure"
          state={[measure.name, setMeasure]}
          choices={measures.map(({ name, text }) => ({ value: name, text }))}
        />
        <Segmented label="Step" state={[chart.step, setStep]} choices={choicesOf(stepNames)} />
        <Button icon="download" onClick={() => svg.current && void savePicture(svg.current, "usage")}>
          PNG
        </Button>
      </header>
      <StackedChart
        svg={svg}
        label={`${measure.text} by ${chart.step}: ${stacks.map(({ name }) => name).join(", ")}`}
        at={chart.at}
        stacks={stacks}
        before={before}
        limit={measure.name === "spend" ? limit : null}
        pointed={pointed}
        format={measure.format}
        exact={measure.exact}
        timeOf={chart.step === "hour" ? timeOfStep : dayAndMonth}
        onPoint={onPoint}
      />
    </section>
  );
}
