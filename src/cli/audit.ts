import { userInfo } from "node:os";
import type { OperationContext } from "../admin/operations/context.ts";
import type { KeyRecord } from "../store/store.ts";

/** A change made at the command line, in the same log as those made through the admin API. */
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

/** Where others have an address, the one at the machine itself has a name; behind sudo, the name of who called it. */
function userName(behindSudo: string | undefined): string {
  try {
    const { username } = userInfo();
    const isHidden = behindSudo !== undefined && behindSudo !== "" && behindSudo !== username;
    return isHidden ? `${behindSudo} as ${username}` : username;
  } catch {
    return behindSudo || `user ${process.getuid?.() ?? "unknown"}`;
  }
}
