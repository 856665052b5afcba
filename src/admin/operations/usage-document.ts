import type { Figures } from "../../store/store.ts";
import { iso } from "../iso-time.ts";
import type { UsageRowView, UsageView } from "../views.ts";
import { figuresDocument } from "./figures-document.ts";
import type { UsageReport } from "./usage-report.ts";

/** A report as the admin API answers it and `sluice usage --json` prints it. Keys are grouped by id and shown by name. */
export function usageDocument(
  report: UsageReport,
  by: UsageView["by"],
  keyName: (id: string) => string,
): UsageView {
  const isByTime = by === "day" || by === "hour";
  return {
    by,
    since: iso(report.sinceMs),
    until: iso(report.untilMs),
    data: report.groups.map(({ group, ...figures }) => {
      const name = by === "key" ? keyName(group) : group;
      return usageRow(isByTime ? iso(Date.parse(group)) : group, name, figures);
    }),
    total: figuresDocument(report.total),
  };
}

export function usageRow(group: string, name: string, figures: Figures): UsageRowView {
  return { group, name, ...figuresDocument(figures) };
}
