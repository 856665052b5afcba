import type { AuditQuery, Store } from "../../store/store.ts";
import { type AuditView, iso } from "../views.ts";

/** Changes, newest first, under the names that the admin API, the dashboard and `--json` share. */
export async function listAudit({ admin }: Pick<Store, "admin">, query: AuditQuery): Promise<AuditView[]> {
  return (await admin.listAudit(query)).map(({ atMs, ...rest }) => ({ ...rest, at: iso(atMs) }));
}
