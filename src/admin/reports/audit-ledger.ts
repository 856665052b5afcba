import { type Alert, unsetAlertFields } from "../../alerts/alert.ts";
import { anchorText } from "../../base/money/anchor.ts";
import { plural } from "../../base/text/plural.ts";
import { cursorOf, entryIdOf, entryText, isCursorOf } from "../../feed/entry-document.ts";
import { type AuditReport, audit, type Difference } from "../../ledger/audit.ts";
import type { AuditOptions } from "../../ledger/audit-charges.ts";
import type { Store } from "../../store/store.ts";
import type { OperationContext } from "../context.ts";

/** An anchor, an entry with its whole hash, or a cursor. */
export const keptPattern = "^(a[1-9]\\d{0,8}\\.[\\w-]{32}|[1-9]\\d{0,14}\\.([\\w-]{16}|[\\w-]{32}))$";
export const keptExample = "a12.hzGf3b0Q9mXw2cV7tYk1sLpN8eRa5UdJ";

/**
 * Recomputes all charges and totals from the entries, and reports where the stored ones differ. A difference raises an
 * alert, which the next clean audit resolves. `kept` is an anchor, the last entry of a statement, or a cursor of the feed, which the
 * ledger must still have.
 */
export async function auditLedger(
  { store, clock }: OperationContext,
  options: AuditOptions,
  kept?: string,
): Promise<AuditReport> {
  const nowMs = clock.wallMs();
  const audited = await audit(store, options);
  const lost = kept === undefined ? null : await differenceFrom(store, kept);
  const report = lost === null ? audited : { ...audited, differences: [lost, ...audited.differences] };
  const alerts = JSON.stringify(auditAlerts(report.differences.length, nowMs));
  await store.alerts.publish("audit", alerts, nowMs, Number.MAX_SAFE_INTEGER);
  return report;
}

/** Null if the ledger has it as it was kept. */
async function differenceFrom(store: Store, kept: string): Promise<Difference | null> {
  const isAnchor = kept.startsWith("a");
  const found = isAnchor ? await anchorLike(store, kept) : await entryLike(store, kept);
  if (found === kept) return null;
  const [name = "", hash = ""] = kept.split(".");
  const where = isAnchor ? `anchor ${name.slice(1)}` : `entry ${name}`;
  return { keyId: null, where, field: "hash", kept: hash, recomputed: found?.split(".")[1] ?? "none" };
}

async function anchorLike({ chain }: Store, kept: string): Promise<string | null> {
  const no = Number.parseInt(kept.slice(1), 10);
  const anchor = (await chain.anchors()).find((anchor) => anchor.no === no);
  return anchor === undefined ? null : anchorText(anchor);
}

/** In the form in which it was kept: a statement has the whole hash, a cursor its beginning. */
async function entryLike({ feed }: Store, kept: string): Promise<string | null> {
  const entry = await feed.entry(entryIdOf(kept));
  if (entry === null) return null;
  if (isCursorOf(kept, entry)) return kept;
  return kept.length === cursorOf(entry).length ? cursorOf(entry) : entryText(entry);
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
