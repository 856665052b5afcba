import { SQL } from "bun";
import { assert } from "../../base/assert.ts";
import { startDeadline } from "../../base/loop/deadline.ts";
import type { Parameter, Query } from "../query.ts";
import type { PostgresLocation } from "../settings.ts";
import { type PostgresAddress, parseAddress } from "./address.ts";
import { DeadlinePassed } from "./errors.ts";
import { readPassword } from "./password.ts";
import { PendingStatements } from "./pending-statements.ts";
import { sessionSettings } from "./session.ts";
import { storableText } from "./text.ts";

export type { Parameter, Query };

export interface ClientOptions {
  readonly address: PostgresAddress;
  /** Maximum number of connections. */
  readonly max: number;
  /** False behind pgbouncer in transaction mode. */
  readonly prepare: boolean;
  /** Time limit of one query, including the time to connect. */
  readonly deadlineMs: number;
  /** Runs the query that checks an overdue one. By default on a connection opened for it. */
  readonly elsewhere?: Query | undefined;
}

const connectTimeoutSeconds = 5;
/** How long a transaction can wait for its client: a client whose machine is gone must not keep its locks. */
const maxIdleMs = 10_000;
/** Interval and time limit for asking the server whether a query is still running. */
const askEveryMs = 1_000;
const askDeadlineMs = 500;
/** For longer deadlines than this, lost connections are detected earlier. */
const longDeadlineMs = 10_000;

/**
 * A connection pool. Bun.SQL has no time limit for a query, so a dead connection would block it for ever: when a
 * deadline passes, the whole pool is dropped and the next query reconnects. But not while the server is still running
 * the query, as in a commit that waits for a standby: each new connection would end up waiting too.
 */
export class PostgresClient {
  readonly #options: ClientOptions;
  readonly #application = `sluice ${crypto.randomUUID()}`;
  /** Queries without a reply in time. */
  readonly #overdue = new Set<Promise<unknown>>();
  /** Null if deadlines are short, and behind a pooler, which shares connections. */
  readonly #statements: PendingStatements | null;
  #sql: SQL;
  #isClosed = false;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#sql = connect(options, this.#application);
    const isWatched = options.prepare && options.deadlineMs >= longDeadlineMs;
    const isServerBusy = () => this.#isServerBusy();
    const onLost = () => this.#drop(this.#sql);
    this.#statements = isWatched ? new PendingStatements({ isServerBusy, onLost }) : null;
  }

  get address(): PostgresAddress {
    return this.#options.address;
  }

  readonly query: Query = <Row>(text: string, parameters: readonly Parameter[] = []) =>
    this.#within(this.#options.deadlineMs, (sql) => run<Row>(sql, text, parameters), this.#statements);

  /**
   * Runs several statements without parameters in one round trip, and returns all their rows. They may leave a transaction open, so the
   * client must have one connection, and one user. The next statement runs elsewhere if that connection is lost.
   */
  readonly script = <Row>(text: string): Promise<Row[]> => {
    assert(this.#options.max === 1, "a transaction in several scripts needs a client with one connection");
    return this.#within(this.#options.deadlineMs, (sql) => runScript<Row>(sql, text), this.#statements);
  };

  /** Runs a transaction. The deadline covers all of it. */
  transaction<Result>(
    work: (query: Query) => Promise<Result>,
    { deadlineMs = this.#options.deadlineMs, begin = "", idleMs = maxIdleMs } = {},
  ): Promise<Result> {
    return this.#within(deadlineMs, async (sql) => {
      const whole = sql.begin(begin, async (transaction) => {
        const query: Query = (text, parameters = []) => run(transaction, text, parameters);
        // Takes no snapshot yet: a transaction that begins with a lock must take its snapshot under the lock.
        await query(
          `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}; SET LOCAL statement_timeout = ${deadlineMs}`,
        );
        return work(query);
      });
      return (await whole) as Result;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sql.close({ timeout: 0 });
  }

  async #within<Result>(
    deadlineMs: number,
    work: (sql: SQL) => Promise<Result>,
    statements: PendingStatements | null = null,
  ): Promise<Result> {
    if (this.#overdue.size >= this.#options.max) throw new DeadlinePassed(deadlineMs);
    const sql = this.#sql;
    const answer = work(sql);
    const { promise: deadline, reject } = Promise.withResolvers<never>();
    const cancelDeadline = startDeadline(deadlineMs, () => {
      reject(new DeadlinePassed(deadlineMs));
      void this.#awaitOverdue(sql, answer, deadlineMs);
    });
    const sentAtMs = performance.now();
    const endWatch = statements?.add(() =>
      reject(new DeadlinePassed(Math.round(performance.now() - sentAtMs))),
    );
    try {
      return await Promise.race([answer, deadline]);
    } finally {
      endWatch?.();
      cancelDeadline();
    }
  }

  /** Called when the caller has given up. The connection is kept while the server is still running the query. */
  async #awaitOverdue(sql: SQL, answer: Promise<unknown>, deadlineMs: number): Promise<void> {
    const answered = answer.then(
      () => true,
      () => true,
    );
    this.#overdue.add(answer);
    let isAnswered = false;
    while (!isAnswered && !this.#isClosed && sql === this.#sql && (await this.#isAtWork(deadlineMs)))
      isAnswered = await Promise.race([answered, pause(askEveryMs)]);
    this.#overdue.delete(answer);
    if (!isAnswered) this.#drop(sql);
  }

  /** Whether the server has been running a query of this client for that long. False if unknown. */
  async #isAtWork(deadlineMs: number): Promise<boolean> {
    const { elsewhere = (text, parameters) => this.#askOnce(text, parameters) } = this.#options;
    const parameters = [this.#application, Math.floor(deadlineMs / 2)];
    const rows = await elsewhere(busyBackends, parameters).catch(() => []);
    return rows.length > 0;
  }

  /**
   * Whether the server is running anything for this client. Null if unknown, or if something in between changed the
   * name that identifies its connections.
   */
  async #isServerBusy(): Promise<boolean | null> {
    const name = `${this.#application} asks`;
    const [row] = await this.#askOnce<{ name: string; isBusy: boolean }>(
      anyBackend,
      [this.#application],
      name,
    );
    return row?.name === name ? row.isBusy : null;
  }

  async #askOnce<Row>(
    text: string,
    parameters: readonly Parameter[] = [],
    application = "sluice",
  ): Promise<Row[]> {
    const sql = connect({ ...this.#options, max: 1 }, application);
    try {
      return await Promise.race([run<Row>(sql, text, parameters), Bun.sleep(askDeadlineMs).then(() => [])]);
    } finally {
      // Not awaited: it may be the connection that hangs.
      sql.close({ timeout: 0 }).catch(() => {});
    }
  }

  #drop(sql: SQL): void {
    if (sql !== this.#sql || this.#isClosed) return;
    this.#overdue.clear();
    this.#sql = connect(this.#options, this.#application);
    sql.close({ timeout: 0 }).catch(() => {});
  }
}

const commandDeadlineMs = 30_000;

/** For a command that needs one connection but no store. */
export async function withClient<Result>(
  { url, password, prepare }: PostgresLocation,
  work: (client: PostgresClient) => Promise<Result>,
): Promise<Result> {
  const address = parseAddress(url, password);
  const client = new PostgresClient({ address, max: 1, prepare, deadlineMs: commandDeadlineMs });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Does not keep the process alive. */
function pause(ms: number): Promise<false> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(false), ms).unref();
  });
}

/** Backends still running a statement. One waiting on its client is excluded: that client is gone. */
const busyBackends = `
SELECT FROM pg_stat_activity WHERE application_name = $1 AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'
  AND query_start < clock_timestamp() - $2::int * interval '1 ms'`;

/** Includes transactions that wait for their client. */
const anyBackend = `SELECT current_setting('application_name') AS name,
  EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle') AS "isBusy"`;

/** Returns a plain array, not the driver's own type. The caller's statement determines the shape of the rows. */
async function run<Row>(sql: SQL, text: string, parameters: readonly Parameter[]): Promise<Row[]> {
  return [...((await sql.unsafe(text, parameters.map(storable))) as Row[])];
}

/** The driver returns the rows of one statement, or a list of them for several. */
async function runScript<Row>(sql: SQL, text: string): Promise<Row[]> {
  return [...((await sql.unsafe(text).simple()) as (Row | Row[])[])].flat() as Row[];
}

function storable(parameter: Parameter): Parameter {
  if (typeof parameter === "string") return storableText(parameter);
  if (!Array.isArray(parameter)) return parameter;
  return parameter.map((item) => (typeof item === "string" ? storableText(item) : item));
}

/** Everything is passed by name, because Bun.SQL fills gaps from the environment (PGDATABASE, DATABASE_URL, …). */
function connect({ address, max, prepare, deadlineMs }: ClientOptions, application: string): SQL {
  const { hostname, port, database, username, password } = address;
  return new SQL({
    adapter: "postgres",
    url: `postgres://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}/`,
    hostname,
    port,
    database,
    username,
    // Called for every connection.
    password: () => readPassword(password),
    tls: tlsOptions(address),
    max,
    prepare,
    idleTimeout: 0,
    connection: sessionSettings({ application, prepare, deadlineMs }),
    connectionTimeout: connectTimeoutSeconds,
  });
}

/**
 * As in libpq: `require` encrypts but verifies nothing, unless certificates are given; `verify-ca` verifies the
 * certificate's issuer, `verify-full` also the host name. Environment variables that turn verification off are
 * ignored.
 */
function tlsOptions({
  tls,
  rootCertificates,
}: PostgresAddress): NonNullable<SQL.PostgresOrMySQLOptions["tls"]> {
  const isVerified = tls.startsWith("verify-") || rootCertificates !== null;
  if (!isVerified) return tls;
  return {
    rejectUnauthorized: true,
    ...(rootCertificates === null ? {} : { ca: Bun.file(rootCertificates) }),
    ...(tls === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}
