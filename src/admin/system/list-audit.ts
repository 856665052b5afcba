import type { AuditQuery, Store } from "../../store/store.ts";
import { iso } from "../moments.ts";
import type { AuditView } from "./schema.ts";

type AuditStore = Pick<Store, "admin" | "findKey" | "findAccount">;

/** The audit log, newest first, in the fields shared by the admin API, the dashboard and `--json`. */
export async function listAudit(store: AuditStore, query: AuditQuery): Promise<AuditView[]> {
  const records = await store.admin.listAudit(query);
  const targets = [...new Set(records.flatMap(({ target }) => target ?? []))];
  const labels = new Map(
    await Promise.all(targets.map(async (target) => [target, await labelOf(store, target)] as const)),
  );
  return records.map(({ atMs, ...rest }) => ({
    ...rest,
    at: iso(atMs),
    target_label: rest.target === null ? null : (labels.get(rest.target) ?? null),
  }));
}

/** The current label of the changed key or account; null for other targets and without a label. */
async function labelOf(store: AuditStore, target: string): Promise<string | null> {
  if (/^(slu|key)_/.test(target)) return (await store.findKey(target))?.label ?? null;
  return target.startsWith("acc_") ? ((await store.findAccount(target))?.label ?? null) : null;
}
