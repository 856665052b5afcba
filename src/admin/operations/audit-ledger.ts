import { type AuditReport, audit } from "../../ledger/audit.ts";
import type { OperationContext } from "./context.ts";

/** Adds everything up again from the entries, and tells where the kept sums say otherwise. */
export function auditLedger({ store }: OperationContext): Promise<AuditReport> {
  return audit(store);
}
