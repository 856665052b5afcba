import { type Alert, unsetAlertFields } from "../../alerts/alert.ts";
import { plural } from "../../base/text/plural.ts";
import { type AuditReport, audit } from "../../ledger/audit.ts";
import type { AuditOptions } from "../../ledger/audit-charges.ts";
import type { OperationContext } from "../context.ts";

/**
 * Recomputes all charges and totals from the entries, and reports where the stored ones differ. A difference raises an
 * alert, which the next clean audit resolves.
 */
export async function auditLedger(
  { store, clock }: OperationContext,
  options: AuditOptions,
): Promise<AuditReport> {
  const nowMs = clock.wallMs();
  const report = await audit(store, options);
  const alerts = JSON.stringify(auditAlerts(report.differences.length, nowMs));
  await store.alerts.publish("audit", alerts, nowMs, Number.MAX_SAFE_INTEGER);
  return report;
}

function auditAlerts(differences: number, nowMs: number): Alert[] {
  if (differences === 0) return [];
  const found = plural(differences, "difference");
  return [
    {
      ...unsetAlertFields,
      kind: "audit_failed",
      subject: { type: "ledger", id: "ledger", label: "ledger" },
      sinceMs: nowMs,
      text: `The audit of the ledger found ${found}; \`sluice ledger audit\` lists them.`,
      details: { differences },
    },
  ];
}

/** A difference with the field names of the JSON output. */
export function differenceDocument({ keyId, ...rest }: AuditReport["differences"][number]) {
  return { key_id: keyId, ...rest };
}
