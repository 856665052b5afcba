import { type AuditReport, audit } from "../../ledger/audit.ts";
import type { OperationContext } from "./context.ts";

/** Recomputes all charges and sums from the entries and reports where the stored ones differ. */
export function auditLedger({ store, clock }: OperationContext, deep: boolean): Promise<AuditReport> {
  return audit(store, { nowMs: clock.wallMs(), deep });
}

/** A difference under the names that JSON has. */
export function differenceDocument({ keyId, ...rest }: AuditReport["differences"][number]): object {
  return { key_id: keyId, ...rest };
}
