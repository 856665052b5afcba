import { type Finding, kindOf, severityOf } from "../../alerts/finding.ts";
import { readFindings } from "../../alerts/read-findings.ts";
import type { OperationContext } from "../context.ts";
import { isoOrNull } from "../moments.ts";
import type { FindingView } from "./alert-schema.ts";

/** What needs attention, under the names that the admin API, the dashboard and `--json` share. */
export async function readAttention({ store, clock }: OperationContext): Promise<FindingView[]> {
  return (await readFindings(store, clock.wallMs())).found.map(findingDocument);
}

export function findingDocument(finding: Finding): FindingView {
  const { kind, subject, level, sinceMs, text, details, lastError } = finding;
  return {
    kind,
    severity: severityOf(finding),
    subject,
    level,
    since: isoOrNull(sinceMs),
    text,
    details,
    last_error: lastError,
    next: kindOf(finding).next(finding),
  };
}
