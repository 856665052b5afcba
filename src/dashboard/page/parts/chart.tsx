import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { axisNumber, axisTime, zonedMinute } from "../format.ts";
import { isDark } from "../theme.ts";
import { type Zone, zone } from "../zone.ts";
import { loneIndices, type Shape, splitUnfinished, type Values } from "./chart-values.ts";

/**
 * A color of tokens.css as the browser resolves it now. A canvas does not understand variables or `light-dark()`, so the
 * color is read from a hidden element.
 */
function colourOf(variable: string, opacity = 1): string {
  const probe = document.createElement("i");
  probe.hidden = true;
  probe.style.color = `color-mix(in srgb, var(${variable}) ${opacity * 100}%, transparent)`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

export interface Line {
  readonly label: string;
  readonly values: Values;
  /** The number of a chart colour in tokens.css. */
  readonly colour: 1 | 2 | 3 | 4;
  readonly shape?: Shape;
  /** The legend's value for the whole range, while no moment is pointed at. */
  readonly overall: string;
}

interface ChartProps {
  readonly title: string;
  /** Unix seconds, one for each value. */
  readonly at: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Formats the axis marks, if they are not plain numbers. */
  readonly axis?: (value: number) => string;
  /** The last value is of a step that is not over: it is drawn as unfinished. */
  readonly isRunning?: boolean;
  /** The figures are whole numbers, so the axis has no fractions, which the format would round to the same text. */
  readonly whole?: boolean;
}

const height = 180;
/** 1, 2, 5, 10, 20, 25, 50, 100 and so on. */
const wholeSteps = Array.from({ length: 13 }, (_, power) => [1, 2, 2.5, 5].map((step) => step * 10 ** power))
  .flat()
  .filter(Number.isInteger);

const daySeconds = 86_400;
const wholeDays = [1, 2, 3, 5, 7, 14, 28].map((days) => days * daySeconds);

const barPaths = uPlot.paths.bars?.({ size: [0.72, 28], radius: 0.18 });
const bars = barPaths === undefined ? {} : { paths: barPaths };

/** Straight from value to value; a step without any is a gap. The step that is not over is a paler bar, or a dashed line to it. */
function seriesOf(line: Line, values: Values, isRunning: boolean): uPlot.Series {
  const stroke = colourOf(`--chart-${line.colour}`);
  if (line.shape === "bars") {
    const fill = isRunning ? colourOf(`--chart-${line.colour}`, 0.4) : stroke;
    return { label: line.label, stroke: fill, fill, width: 0, points: { show: false }, ...bars };
  }
  const lone = loneIndices(values);
  const points = { show: lone.length > 0, size: 6, fill: stroke, filter: () => lone };
  const plain = { label: line.label, stroke, width: 1.75, points };
  if (isRunning) return { ...plain, dash: [3, 4] };
  return line.shape === "area" ? { ...plain, fill: colourOf(`--chart-${line.colour}`, 0.12) } : plain;
}

interface DrawnLine {
  readonly line: Line;
  readonly values: Values;
  readonly isRunning: boolean;
}

/** The lines to draw, with unfinished steps as separate ones. */
function drawn({ lines, isRunning = false }: ChartProps): readonly DrawnLine[] {
  if (!isRunning) return lines.map((line) => ({ line, values: line.values, isRunning: false }));
  const split = lines.map((line) => ({ line, ...splitUnfinished(line.values, line.shape) }));
  return [
    ...split.map(({ line, over }) => ({ line, values: over, isRunning: false })),
    ...split.map(({ line, running }) => ({ line, values: running, isRunning: true })),
  ];
}

/** Whole days are UTC days, whatever time zone the page shows. */
function zoneOf({ at: [first = 0, second = first + daySeconds] }: ChartProps): Zone {
  return second - first >= daySeconds ? "UTC" : zone.value;
}

/** As wide as the longest label; there are none yet when the chart is first measured. */
function axisWidth(_chart: uPlot, marks: readonly string[] | null): number {
  return Math.max(48, ...(marks ?? []).map((mark) => 14 + 7 * mark.length));
}

function optionsOf(props: ChartProps, width: number, onPoint: (index: number | null) => void): uPlot.Options {
  const axis = {
    stroke: colourOf("--muted"),
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
    ticks: { show: false },
  };
  const inZone = zoneOf(props);
  const needsRoom = props.at.length === 1 || props.lines.some((line) => line.shape === "bars");
  const [first = 0, second = first + daySeconds] = props.at;
  const room = needsRoom ? (second - first) / 2 : 0;
  const { axis: mark = axisNumber } = props;
  const grid = { stroke: colourOf("--line"), width: 1 };
  return {
    width,
    height,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    tzDate: (seconds) =>
      inZone === "UTC" ? uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") : new Date(seconds * 1000),
    cursor: {
      sync: { key: "overview" },
      drag: { x: false, y: false },
      y: false,
      points: { size: 7 },
    },
    scales: {
      // Half a step of padding on both sides, or the first and last bars would be cut in half. A single value is centered.
      x: { range: [first - room, (props.at.at(-1) ?? first) + room] },
      y: { range: (_chart, _low, high) => [0, high > 0 ? high * 1.12 : 1.12] },
    },
    series: [{}, ...drawn(props).map(({ line, values, isRunning }) => seriesOf(line, values, isRunning))],
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        size: 30,
        ...(second - first >= daySeconds ? { incrs: wholeDays } : {}),
        values: (_chart, splits) => splits.map((seconds) => axisTime(seconds * 1000, inZone)),
      },
      {
        ...axis,
        grid,
        size: axisWidth,
        space: 36,
        ...(props.whole ? { incrs: wholeSteps } : {}),
        values: (_chart, splits) => splits.map((value) => (value === 0 ? "0" : mark(value))),
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
    const data: uPlot.AlignedData = [[...props.at], ...drawn(props).map(({ values }) => [...values])];
    const chart = new uPlot(optionsOf(props, element.clientWidth, setIndex), data, element);
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [props.at, dark, zone.value]);

  const at = index === null ? undefined : props.at[index];
  return (
    <figure class="card chart">
      <figcaption>
        <h2>{props.title}</h2>
        {at !== undefined && <small class="muted">{zonedMinute(at * 1000)}</small>}
        <ul class="legend line">
          {props.lines.map((line) => {
            const value = index === null ? null : (line.values[index] ?? null);
            return (
              <li key={line.label} style={{ "--tone": `var(--chart-${line.colour})` }}>
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
