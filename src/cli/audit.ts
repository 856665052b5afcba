import { userInfo } from "node:os";
import type { OperationContext } from "../admin/operations/context.ts";
import type { KeyRecord } from "../store/store.ts";

/** Writes a change made at the command line to the same audit log as the admin API. */
export async function auditChange(
  { store, clock }: OperationContext,
  action: string,
  key: KeyRecord,
  detail: string | null = null,
): Promise<void> {
  const atMs = clock.wallMs();
  await store.admin.appendAudit({
    atMs,
    actor: "cli",
    address: userName(process.env["SUDO_USER"]),
    action,
    target: key.prefix,
    detail,
  });
}

/** Local changes have a user name instead of an address; behind sudo, the name of the calling user. */
function userName(behindSudo: string | undefined): string {
  try {
    const { username } = userInfo();
    const isHidden = behindSudo !== undefined && behindSudo !== "" && behindSudo !== username;
    return isHidden ? `${behindSudo} as ${username}` : username;
  } catch {
    return behindSudo || `user ${process.getuid?.() ?? "unknown"}`;
  }
}
