import type { Finding } from "./finding.ts";

/** The findings of an audit. */
export function auditFindings(differences: number, nowMs: number): Finding[] {
  if (differences === 0) return [];
  return [
    {
      kind: "audit_failed",
      subject: { type: "ledger", id: "ledger", label: "ledger" },
      level: null,
      sinceMs: nowMs,
      text: `The audit of the ledger found ${differences} ${differences === 1 ? "difference" : "differences"}; \`sluice ledger audit\` lists them.`,
      details: { differences },
      lastWords: null,
    },
  ];
}
