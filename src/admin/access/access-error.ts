import { AdminError } from "../formats/admin-error.ts";
import type { RejectedAccess } from "./guard.ts";
import type { Lockout } from "./lockout.ts";

/** The error for a rejected request. A locked address gets it late. */
export async function accessError(lockout: Lockout, access: RejectedAccess): Promise<AdminError> {
  const { status, code, message, waitSeconds } = access;
  if (code === "locked_out") await lockout.slowDown();
  const headers: Record<string, string> = waitSeconds > 0 ? { "retry-after": String(waitSeconds) } : {};
  return new AdminError(status, code, message, { headers });
}
