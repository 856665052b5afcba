import { promised } from "./requirements.ts";

/** Detects a client whose machine is gone within half a minute rather than two hours. */
const keepAliveSettings: Readonly<Record<string, string>> = {
  tcp_keepalives_idle: "15",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3",
  tcp_user_timeout: "30000",
};

/** Compiling a statement costs a second where the planner believes in millions of rows, and ours read few: an audit took 3.5 s instead of one. */
const uncompiled: Readonly<Record<string, string>> = { jit: "off" };

export interface SessionOptions {
  /** Identifies the connections of one client. */
  readonly application: string;
  /** False behind pgbouncer in transaction mode, which rejects session settings. The role has to set them then. */
  readonly prepare: boolean;
  readonly deadlineMs: number;
}

/** Named as in PostgreSQL's startup message. */
export function sessionSettings({
  application,
  prepare,
  deadlineMs,
}: SessionOptions): Record<string, string> {
  const name = { application_name: application };
  if (!prepare) return name;
  // The caller has given up by then. A commit is not cut short by it.
  return { ...name, ...promised, ...keepAliveSettings, ...uncompiled, statement_timeout: String(deadlineMs) };
}
