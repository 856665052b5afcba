import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { axisTime, zonedMinute } from "../format.ts";
import { isDark } from "../theme.ts";
import { colourOf } from "./colour.ts";

export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** The number of a chart colour in tokens.css. */
  readonly colour: 1 | 2 | 3 | 4;
  readonly shape?: "bars" | "area" | "line";
  /** What the legend says while no moment is pointed at: the figure of the whole time. */
  readonly overall: string;
}

interface ChartProps {
  readonly title: string;
  /** Unix seconds, one for each value. */
  readonly at: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** The figures are whole numbers, so the axis has no fractions, which the format would round to the same text. */
  readonly whole?: boolean;
}

const height = 180;
/** 1, 2, 5, 10, 20, 25, 50, 100 and so on. */
const wholeSteps = Array.from({ length: 13 }, (_, power) => [1, 2, 2.5, 5].map((step) => step * 10 ** power))
  .flat()
  .filter(Number.isInteger);

/** A single value is no line, and would not be seen. */
function isLone(values: Line["values"]): boolean {
  return values.filter((value) => value !== null).length === 1;
}

function seriesOf(line: Line): uPlot.Series {
  const stroke = colourOf(`--chart-${line.colour}`);
  const points = { show: isLone(line.values), size: 6, fill: stroke };
  const shared = { label: line.label, stroke, points, spanGaps: true };
  if (line.shape === "bars" && uPlot.paths.bars) {
    const paths = uPlot.paths.bars({ size: [0.72, 28], radius: 0.18 });
    return { ...shared, width: 0, fill: stroke, paths };
  }
  const paths = uPlot.paths.spline?.();
  const curve = { ...shared, width: 1.75, ...(paths ? { paths } : {}) };
  return line.shape === "area" ? { ...curve, fill: colourOf(`--chart-${line.colour}`, 0.12) } : curve;
}

function halfStep(chart: uPlot): number {
  const [first, second] = chart.data[0];
  return first === undefined || second === undefined ? 1 : (second - first) / 2;
}

function timeLabels(_chart: uPlot, splits: number[]): string[] {
  return splits.map((seconds) => axisTime(seconds * 1000));
}

function optionsOf(props: ChartProps, width: number, onPoint: (index: number | null) => void): uPlot.Options {
  const axis = {
    stroke: colourOf("--muted"),
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
    ticks: { show: false },
  };
  const bars = props.lines.some((line) => line.shape === "bars");
  const grid = { stroke: colourOf("--line"), width: 1 };
  return {
    width,
    height,
    padding: [4, 24, 0, 0],
    legend: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    cursor: {
      sync: { key: "overview" },
      drag: { x: false, y: false },
      y: false,
      points: { size: 7 },
    },
    scales: {
      // Half a step of room on both sides, or the first and the last bar would be cut in two.
      x: {
        range: (chart, low, high) => (bars ? [low - halfStep(chart), high + halfStep(chart)] : [low, high]),
      },
      y: { range: (_chart, _low, high) => [0, high > 0 ? high * 1.12 : 1] },
    },
    series: [{}, ...props.lines.map(seriesOf)],
    axes: [
      { ...axis, grid: { show: false }, space: 64, size: 30, values: timeLabels },
      {
        ...axis,
        grid,
        size: 56,
        space: 36,
        ...(props.whole ? { incrs: wholeSteps } : {}),
        values: (_chart, splits) => splits.map((value) => (value === 0 ? "0" : props.format(value))),
      },
    ],
    hooks: { setCursor: [(chart) => onPoint(chart.cursor.idx ?? null)] },
  };
}

/** uPlot draws; this keeps it as wide as its card, in the theme's colours, and reads out the pointed moment. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [index, setIndex] = useState<number | null>(null);
  const dark = isDark();

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const data: uPlot.AlignedData = [[...props.at], ...props.lines.map((line) => [...line.values])];
    const chart = new uPlot(optionsOf(props, element.clientWidth, setIndex), data, element);
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [props.at, dark]);

  const at = index === null ? undefined : props.at[index];
  return (
    <figure class="card chart">
      <figcaption>
        <h2>{props.title}</h2>
        {at !== undefined && <span class="muted">{zonedMinute(at * 1000)}</span>}
        <ul class="legend">
          {props.lines.map((line) => {
            const value = index === null ? null : (line.values[index] ?? null);
            return (
              <li key={line.label} class={`colour-${line.colour}`}>
                {line.label}
                <b>{index === null ? line.overall : value === null ? "–" : props.format(value)}</b>
              </li>
            );
          })}
        </ul>
      </figcaption>
      <div
        ref={place}
        class="plot"
        role="img"
        aria-label={`${props.title}: ${props.lines.map((line) => `${line.label} ${line.overall}`).join(", ")}`}
      />
    </figure>
  );
}
