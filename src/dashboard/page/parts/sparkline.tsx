import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { isDark } from "../theme.ts";
import { colourOf } from "./colour.ts";

const width = 96;
const height = 26;

/** The last days of one key at a glance; the exact figures are on its own page. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const dark = isDark();
  const shape = values.join();
  useEffect(() => {
    const element = place.current;
    if (!element || !uPlot.paths.bars) return;
    const stroke = colourOf("--chart-1");
    const paths = uPlot.paths.bars({ size: [0.7, 6], radius: 0.3 });
    const chart = new uPlot(
      {
        width,
        height,
        padding: [2, 0, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { time: false, range: [-0.5, values.length - 0.5] },
          y: { range: (_chart, _low, high) => [0, high > 0 ? high : 1] },
        },
        axes: [{ show: false }, { show: false }],
        series: [{}, { fill: stroke, width: 0, paths, points: { show: false } }],
      },
      [values.map((_, place) => place), [...values]],
      element,
    );
    return () => chart.destroy();
  }, [shape, dark]);
  if (values.every((value) => value === 0)) return <span class="muted">–</span>;
  return <span ref={place} class="sparkline" role="img" aria-label={label} />;
}
