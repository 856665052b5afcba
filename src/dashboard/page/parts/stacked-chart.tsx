import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { barSteps, niceMarks } from "./stacked-values.ts";

export interface Stack {
  readonly name: string;
  /** A CSS color. */
  readonly color: string;
  readonly values: readonly number[];
}

interface StackedChartProps {
  readonly label: string;
  /** Unix seconds of each step's start. */
  readonly at: readonly number[];
  readonly stacks: readonly Stack[];
  /** The period before, step by step, drawn as a dashed line. */
  readonly before: readonly number[];
  /** A limit of each step, drawn as a line. */
  readonly limit?: { readonly value: number; readonly text: string } | null;
  /** The stack that is pointed at elsewhere. */
  readonly pointed: string | null;
  readonly format: (value: number) => string;
  readonly exact: (value: number) => string;
  readonly timeOf: (seconds: number) => string;
  readonly onPoint: (name: string | null) => void;
  readonly svg: { current: SVGSVGElement | null };
}

const height = 260;
const room = { top: 10, right: 8, bottom: 24, left: 52 };
const labelWidth = 74;

/** Stacked bars over time. Pointing at a part shows its value. */
export function StackedChart(props: StackedChartProps) {
  const { at, stacks, before, limit, pointed } = props;
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);

  const totals = at.map((_, step) => stacks.reduce((sum, { values }) => sum + (values[step] ?? 0), 0));
  const marks = niceMarks(Math.max(0, ...totals, ...before, limit?.value ?? 0));
  const highest = marks.at(-1) ?? 1;
  const inner = {
    width: Math.max(0, width - room.left - room.right),
    height: height - room.top - room.bottom,
  };
  const y = (value: number) => room.top + inner.height * (1 - value / highest);
  const slot = inner.width / Math.max(1, at.length);
  const x = (step: number) => room.left + step * slot;
  const everyLabel = Math.max(1, Math.ceil((labelWidth * at.length) / Math.max(1, inner.width)));
  const line = before
    .map((value, step) => `${step === 0 ? "M" : "L"}${x(step) + slot / 2} ${y(value)}`)
    .join("");

  return (
    <div ref={place} class="stacked">
      <svg ref={props.svg} width={width} height={height} role="img" aria-label={props.label}>
        {marks.map((mark) => (
          <g key={mark}>
            <line class="grid" x1={room.left} x2={width - room.right} y1={y(mark)} y2={y(mark)} />
            <text class="axis" x={room.left - 8} y={y(mark) + 4} text-anchor="end">
              {props.format(mark)}
            </text>
          </g>
        ))}
        {at.map(
          (seconds, step) =>
            step % everyLabel === 0 && (
              <text
                key={seconds}
                class="axis"
                x={Math.min(x(step) + slot / 2, width - 34)}
                y={height - 6}
                text-anchor="middle"
              >
                {props.timeOf(seconds)}
              </text>
            ),
        )}
        {stacks.map(({ name, color, values }, place_) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: pointing only repeats what the table has, and a row does the same.
          <g
            key={name}
            fill={color}
            opacity={pointed === null || pointed === name ? 1 : 0.22}
            onMouseEnter={() => props.onPoint(name)}
            onMouseLeave={() => props.onPoint(null)}
          >
            {barSteps(stacks, place_, values).map(
              ({ step, from, to }) =>
                to > from && (
                  <rect
                    key={step}
                    x={x(step) + slot * 0.1}
                    width={slot * 0.8}
                    y={y(to)}
                    height={Math.max(0.6, y(from) - y(to))}
                  >
                    <title>{`${name}, ${props.timeOf(at[step] ?? 0)}: ${props.exact(values[step] ?? 0)} of ${props.exact(totals[step] ?? 0)}`}</title>
                  </rect>
                ),
            )}
          </g>
        ))}
        {before.some((value) => value > 0) && <path class="before" d={line} />}
        {limit && (
          <g>
            <line
              class="limit"
              x1={room.left}
              x2={width - room.right}
              y1={y(limit.value)}
              y2={y(limit.value)}
            />
            <text class="limit-text" x={width - room.right} y={y(limit.value) - 5} text-anchor="end">
              {limit.text}
            </text>
          </g>
        )}
      </svg>
    </div>
  );
}
