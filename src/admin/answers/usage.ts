import type { Figures } from "../../store/store.ts";
import type { AdminDeps } from "../deps.ts";
import { iso } from "../iso-time.ts";
import { figuresDocument } from "../operations/figures-document.ts";
import { type UsageReportRequest, usageReport } from "../operations/usage-report.ts";
import type { UsageRowView, UsageView } from "../views.ts";

const maxRows = 10_000;

export async function usage(deps: AdminDeps, request: UsageReportRequest): Promise<UsageView> {
  const { by } = request;
  const isByTime = by === "day" || by === "hour";
  const report = await usageReport(deps, { ...request, largest: isByTime ? undefined : maxRows });
  return {
    by,
    since: iso(report.sinceMs),
    until: iso(report.untilMs),
    data: report.groups.map(({ group, ...figures }) => {
      const name = by === "key" ? keyName(deps, group) : group;
      return usageRow(isByTime ? iso(Date.parse(group)) : group, name, figures);
    }),
    total: figuresDocument(report.total),
  };
}

/** Keys are grouped by id and shown by label. */
export function keyName({ keys }: Pick<AdminDeps, "keys">, id: string): string {
  const key = keys.byId(id);
  return key?.label ?? key?.prefix ?? id;
}

export function usageRow(group: string, name: string, figures: Figures): UsageRowView {
  return { group, name, ...figuresDocument(figures) };
}
