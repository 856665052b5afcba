import type { Figures, GroupedFigures } from "../../store/store.ts";
import { iso, type UsageRowView, type UsageView } from "../views.ts";
import { figuresDocument } from "./figures-document.ts";
import type { Names, UsageReport } from "./usage-report.ts";

/** A report as the admin API answers it and `sluice usage --json` prints it. */
export function usageDocument({ by, sinceMs, untilMs, groups, total }: UsageReport, names: Names): UsageView {
  return {
    by: by.join(","),
    since: iso(sinceMs),
    until: iso(untilMs),
    data: groups.map((row) => rowDocument(by, row, names)),
    total: figuresDocument(total),
  };
}

function rowDocument(by: readonly string[], { groups: values, ...figures }: GroupedFigures, names: Names) {
  const [first = null] = values;
  const isMoment = by[0] === "day" || by[0] === "hour";
  return {
    ...usageRow(
      by.length > 1 ? null : isMoment && first !== null ? iso(Date.parse(first)) : first,
      values.map((value) => nameOf(value, names.short)).join(", "),
      figures,
    ),
    groups: Object.fromEntries(by.map((dimension, place) => [dimension, values[place] ?? null])),
  };
}

export function nameOf(value: string | null, name: (value: string) => string): string {
  return value === null ? "none" : name(value);
}

export function usageRow(group: string | null, name: string, figures: Figures): UsageRowView {
  return { group, name, ...figuresDocument(figures) };
}
