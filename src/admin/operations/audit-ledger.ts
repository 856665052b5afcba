import { type AuditReport, audit } from "../../ledger/audit.ts";
import type { OperationContext } from "./context.ts";

/** Recomputes all sums from the entries and reports where the stored ones differ. */
export function auditLedger({ store }: OperationContext): Promise<AuditReport> {
  return audit(store);
}
