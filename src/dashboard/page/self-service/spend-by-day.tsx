import { useMemo } from "preact/hooks";
import type { KeyView } from "../../../admin/key-terms/schema.ts";
import type { UsageView } from "../../../admin/reports/schema.ts";
import { credits, shortCount } from "../format.ts";
import { Chart } from "../parts/chart.tsx";

const daySeconds = 86_400;

/** The number of days whose spending pages show, today included. */
export const spendDays = 30;

export function spendSince(): string {
  const today = Math.floor(Date.now() / 1000 / daySeconds);
  return new Date((today - spendDays + 1) * daySeconds * 1000).toISOString();
}

/** The days shown where all calls are newer. */
const leastDays = 7;

/** The first day to show: the first one with a call, but at least a week of days. */
function firstDay({ data, until }: UsageView, since: number): number {
  const called = data.map(({ group }) => Date.parse(group ?? "") / 1000);
  const week = Math.floor(Date.parse(until) / 1000 / daySeconds - leastDays + 1) * daySeconds;
  return Math.max(since, Math.min(week, ...called));
}

/** A bar for each day (UTC) with a request. */
export function SpendByDay(props: { usage: UsageView; mode: KeyView["mode"]; since: string }) {
  const { usage, mode, since } = props;
  const at = useMemo(() => {
    const first = firstDay(usage, Date.parse(since) / 1000);
    const count = Math.floor((Date.parse(usage.until) / 1000 - first) / daySeconds) + 1;
    return Array.from({ length: count }, (_, day) => first + day * daySeconds);
  }, [since, usage]);
  const spent = new Map(
    usage.data.map((row) => [
      Date.parse(row.group ?? "") / 1000,
      mode === "credit" ? row.spend : row.spend_tokens,
    ]),
  );
  if (usage.data.length === 0) {
    return (
      <section class="card">
        <h2>Spend by day</h2>
        <p class="muted">No requests in the last {spendDays} days.</p>
      </section>
    );
  }
  const format = mode === "credit" ? credits : shortCount;
  const overall = format(mode === "credit" ? usage.total.spend : usage.total.spend_tokens);
  return (
    <Chart
      title="Spend by day"
      at={at}
      isRunning
      format={format}
      lines={[
        {
          label: mode === "credit" ? "credits" : "tokens",
          values: at.map((day) => spent.get(day) ?? null),
          colour: 1,
          shape: "bars",
          overall,
        },
      ]}
    />
  );
}
