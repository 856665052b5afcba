import type { AdminDeps } from "../deps.ts";
import { usageDocument } from "../operations/usage-document.ts";
import { type UsageReportRequest, usageReport } from "../operations/usage-report.ts";
import type { UsageView } from "../views.ts";

const maxRows = 10_000;

export async function usage(deps: AdminDeps, request: UsageReportRequest): Promise<UsageView> {
  const { by } = request;
  const isByTime = by === "day" || by === "hour";
  const report = await usageReport(deps, { ...request, largest: isByTime ? undefined : maxRows });
  return usageDocument(report, by, (id) => keyName(deps, id));
}

/** Keys are grouped by id and shown by label. */
export function keyName({ keys }: Pick<AdminDeps, "keys">, id: string): string {
  const key = keys.byId(id);
  return key?.label ?? key?.prefix ?? id;
}
