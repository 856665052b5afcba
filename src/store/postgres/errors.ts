import { SQL } from "bun";

/** The deadline passed without a reply: whether the query ran is unknown. */
export class DeadlinePassed extends Error {
  constructor(deadlineMs: number) {
    super(`PostgreSQL did not respond within ${deadlineMs} ms.`);
    this.name = "DeadlinePassed";
  }
}

/** PostgreSQL's five-character code, such as `23505`; empty if the error is not the server's. */
export function sqlStateOf(error: unknown): string {
  return error instanceof SQL.PostgresError && typeof error.errno === "string" ? error.errno : "";
}

/** The server rolled back for an unrelated reason, so a retry may succeed. */
export function isRolledBack(error: unknown): boolean {
  return /^(40|55P03|57014)/.test(sqlStateOf(error));
}

/** No connection, or a broken one: PostgreSQL is down, restarting, failing over, or read-only after a failover. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DeadlinePassed) return true;
  const state = sqlStateOf(error);
  if (state !== "") return /^(08|53|57P0|25006|58030)/.test(state);
  return error instanceof SQL.PostgresError && error.code !== "ERR_POSTGRES_TLS_NOT_AVAILABLE";
}

/** The server, or a proxy in front of it, rejected the connection: wrong password or certificate, or unknown database. */
export function isRejected(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== "") return /^(28|3D000)/.test(state);
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

/** Whether a retry may help, for work that is idempotent. */
export function isTransient(error: unknown): boolean {
  return isRolledBack(error) || isUnavailable(error);
}
