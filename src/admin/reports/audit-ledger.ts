import { type Finding, plain } from "../../alerts/finding.ts";
import { plural } from "../../base/text/plural.ts";
import { type AuditReport, audit } from "../../ledger/audit.ts";
import type { OperationContext } from "../context.ts";

/**
 * Recomputes all charges and sums from the entries and reports where the stored ones differ. That they do needs attention until an
 * audit finds no difference.
 */
export async function auditLedger({ store, clock }: OperationContext, deep: boolean): Promise<AuditReport> {
  const nowMs = clock.wallMs();
  const report = await audit(store, { nowMs, deep });
  const findings = JSON.stringify(auditFindings(report.differences.length, nowMs));
  await store.alerts.publish("audit", findings, nowMs, Number.MAX_SAFE_INTEGER);
  return report;
}

function auditFindings(differences: number, nowMs: number): Finding[] {
  if (differences === 0) return [];
  const found = plural(differences, "difference");
  return [
    {
      ...plain,
      kind: "audit_failed",
      subject: { type: "ledger", id: "ledger", label: "ledger" },
      sinceMs: nowMs,
      text: `The audit of the ledger found ${found}; \`sluice ledger audit\` lists them.`,
      details: { differences },
    },
  ];
}

/** A difference under the names that JSON has. */
export function differenceDocument({ keyId, ...rest }: AuditReport["differences"][number]) {
  return { key_id: keyId, ...rest };
}
