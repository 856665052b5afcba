import { promised } from "./requirements.ts";

/** A client whose machine is gone is noticed within half a minute, and not after two hours. */
const keptAlive: Readonly<Record<string, string>> = {
  tcp_keepalives_idle: "15",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3",
  tcp_user_timeout: "30000",
};

export interface SessionOptions {
  /** Tells the connections of one client from all others. */
  readonly application: string;
  /** False behind pgbouncer in transaction mode, which refuses settings of a session: they are the role's then. */
  readonly prepare: boolean;
  readonly deadlineMs: number;
}

/** By the names that PostgreSQL's start-up message has. */
export function sessionSettings({
  application,
  prepare,
  deadlineMs,
}: SessionOptions): Record<string, string> {
  const name = { application_name: application };
  if (!prepare) return name;
  // Nobody waits for the answer after that. A commit is not cut short by it.
  return { ...name, ...promised, ...keptAlive, statement_timeout: String(deadlineMs) };
}
