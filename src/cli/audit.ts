import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import type { OperationContext } from "../admin/operations/context.ts";
import type { AccountRecord, KeyRecord } from "../store/store.ts";

/** Writes a change made at the command line to the same audit log as the admin API. */
export async function auditChange(
  { store, clock }: OperationContext,
  action: string,
  /** A key, or an account by its id. */
  target: Pick<KeyRecord, "prefix"> | Pick<AccountRecord, "id" | "mode">,
  detail: string | null = null,
): Promise<void> {
  const atMs = clock.wallMs();
  await store.admin.appendAudit({
    atMs,
    actor: "cli",
    address: userName(process.env["SUDO_USER"]),
    action,
    target: "prefix" in target ? target.prefix : target.id,
    detail,
  });
}

/** Local changes have a user name instead of an address; behind sudo, the name of the calling user. */
function userName(behindSudo: string | undefined): string {
  const username = systemUser();
  const isHidden = behindSudo !== undefined && behindSudo !== "" && behindSudo !== username;
  return isHidden ? `${behindSudo} as ${username}` : username;
}

/** Bun takes the name from the environment, which services, cron and containers do without: then it is "unknown". */
function systemUser(): string {
  try {
    const { username } = userInfo();
    if (username !== "" && username !== "unknown") return username;
  } catch {
    // No such user on this machine; its number is shown instead.
  }
  const uid = process.getuid?.();
  return (uid !== undefined && nameInPasswd(uid)) || `user ${uid ?? "unknown"}`;
}

function nameInPasswd(uid: number): string | null {
  if (!existsSync("/etc/passwd")) return null;
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  const [name] = users.map((line) => line.split(":")).find((fields) => fields[2] === String(uid)) ?? [];
  return name ?? null;
}
