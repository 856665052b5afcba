import type { AdminDeps } from "../deps.ts";
import { usageDocument } from "../operations/usage-document.ts";
import { readNames, type UsageReportRequest, usageReport } from "../operations/usage-report.ts";
import type { UsageView } from "../views.ts";

const maxRows = 10_000;

export async function usage(deps: AdminDeps, request: UsageReportRequest): Promise<UsageView> {
  const report = await usageReport(deps, { ...request, largest: maxRows });
  return usageDocument(report, await readNames(deps, request.by));
}

/** Keys are grouped by id and shown by label. */
export function keyName({ keys }: Pick<AdminDeps, "keys">, id: string): string {
  const key = keys.byId(id);
  return key?.label ?? key?.prefix ?? id;
}
