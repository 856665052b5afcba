import type { ProviderKeyCheckView } from "../../admin/models/schema.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

export function providerFindings(checks: readonly ProviderKeyCheckView[]): readonly Finding[] {
  const judges = { ok, unchecked: warning, failed: problem, skipped: problem } as const;
  return checks.map(({ state, text, fix }) => judges[state]("provider", text, fix));
}
