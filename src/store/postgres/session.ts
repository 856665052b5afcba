/**
 * What every connection asks for as it begins, whatever the server, the database or the role have as their defaults. Each
 * is something that the ledger's promises rest on.
 */
const promised: Readonly<Record<string, string>> = {
  /** A charge is on disk, and on a synchronous standby, before anybody hears of it. */
  synchronous_commit: "on",
  /** A statement sees what others have committed while it waited for a lock. */
  default_transaction_isolation: "read committed",
  /** Figures arrive digit by digit. */
  extra_float_digits: "1",
  bytea_output: "hex",
  array_nulls: "on",
};

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
