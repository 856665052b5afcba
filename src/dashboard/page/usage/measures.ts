import type { UsageChartView } from "../../../admin/reports/schema.ts";
import { credits, exactCredits, exactNumber, shortCount } from "../format.ts";

type ChartPoint = UsageChartView["before"][number];

export interface Measure {
  readonly name: string;
  readonly text: string;
  readonly unit: string;
  readonly of: (point: ChartPoint) => number;
  readonly format: (value: number) => string;
  readonly exact: (value: number) => string;
}

const tokens = { unit: "tokens", format: shortCount, exact: exactNumber };

/** The metrics that the chart offers. Spend includes the list cost of token budgets, like the table's order. */
export const measures: readonly Measure[] = [
  {
    name: "spend",
    text: "Spend",
    unit: "credits, token budgets at list price",
    of: (point) => point.spend + point.list_cost,
    format: credits,
    exact: exactCredits,
  },
  {
    name: "requests",
    text: "Requests",
    unit: "requests",
    of: (point) => point.recorded_requests,
    format: shortCount,
    exact: exactNumber,
  },
  { name: "input", text: "Input", ...tokens, of: (point) => point.input_tokens },
  { name: "output", text: "Output", ...tokens, of: (point) => point.output_tokens },
  { name: "cached", text: "Cached", ...tokens, of: (point) => point.cached_input_tokens },
];

export function measureNamed(name: string | null): Measure {
  const found = measures.find((measure) => measure.name === name) ?? measures[0];
  if (found === undefined) throw new Error("there are measures");
  return found;
}

/** The color of each of the largest groups; the rest is gray. */
export function colorOf(place: number, isRest: boolean): string {
  return isRest ? "var(--chart-rest)" : `var(--chart-${place + 1})`;
}
