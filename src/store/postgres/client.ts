import { SQL } from "bun";
import { startDeadline } from "../../base/deadline.ts";
import type { PostgresAddress } from "./address.ts";
import { DeadlinePassed } from "./errors.ts";
import { storableText } from "./text.ts";

/** A value that Bun.SQL can send. Arrays need a cast in the statement, such as `$1::int8[]`. */
export type Parameter =
  | string
  | number
  | boolean
  | Uint8Array
  | null
  | readonly (string | number | boolean | null)[];

/** Runs one statement. int8 arrives as a string: select `::float8`, or convert where it may exceed 2^53. */
export type Query = <Row>(text: string, parameters?: readonly Parameter[]) => Promise<Row[]>;

export interface ClientOptions {
  readonly address: PostgresAddress;
  /** Connections at most. */
  readonly max: number;
  /** False behind pgbouncer in transaction mode. */
  readonly prepare: boolean;
  /** How long one query may take, the time to connect included. */
  readonly deadlineMs: number;
}

const connectTimeoutSeconds = 5;

/**
 * A pool of connections. Bun.SQL has no time limit for a query, so a connection that has become a black hole would block
 * it for ever: when a deadline passes, the whole pool is dropped and the next query connects anew.
 */
export class PostgresClient {
  readonly #options: ClientOptions;
  #sql: SQL;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#sql = connect(options);
  }

  get address(): PostgresAddress {
    return this.#options.address;
  }

  readonly query: Query = <Row>(text: string, parameters: readonly Parameter[] = []) => {
    const sql = this.#sql;
    return this.#within(sql, this.#options.deadlineMs, run<Row>(sql, text, parameters));
  };

  /** All or nothing. The deadline is for the whole of it. */
  transaction<Result>(
    work: (query: Query) => Promise<Result>,
    { deadlineMs = this.#options.deadlineMs, begin = "" } = {},
  ): Promise<Result> {
    const sql = this.#sql;
    const whole = sql.begin(begin, (transaction) =>
      work((text, parameters = []) => run(transaction, text, parameters)),
    );
    return this.#within(sql, deadlineMs, whole as Promise<Result>);
  }

  async close(): Promise<void> {
    await this.#sql.close({ timeout: 0 });
  }

  async #within<Result>(sql: SQL, deadlineMs: number, answer: Promise<Result>): Promise<Result> {
    const { promise: deadline, reject } = Promise.withResolvers<never>();
    const cancelDeadline = startDeadline(deadlineMs, () => {
      reject(new DeadlinePassed(deadlineMs));
      this.#drop(sql);
    });
    try {
      return await Promise.race([answer, deadline]);
    } finally {
      cancelDeadline();
    }
  }

  #drop(sql: SQL): void {
    if (sql !== this.#sql) return;
    this.#sql = connect(this.#options);
    sql.close({ timeout: 0 }).catch(() => {});
  }
}

/** A plain array, not the driver's own kind. What the rows look like is the statement's promise. */
async function run<Row>(sql: SQL, text: string, parameters: readonly Parameter[]): Promise<Row[]> {
  return [...((await sql.unsafe(text, parameters.map(storable))) as Row[])];
}

function storable(parameter: Parameter): Parameter {
  if (typeof parameter === "string") return storableText(parameter);
  if (!Array.isArray(parameter)) return parameter;
  return parameter.map((item) => (typeof item === "string" ? storableText(item) : item));
}

/** Everything is passed by name, because Bun.SQL fills gaps from the environment (PGDATABASE, DATABASE_URL, …). */
function connect({ address, max, prepare }: ClientOptions): SQL {
  const { hostname, port, database, username, password } = address;
  return new SQL({
    adapter: "postgres",
    url: `postgres://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}/`,
    hostname,
    port,
    database,
    username,
    password: password ?? "",
    tls: tlsOptions(address),
    max,
    prepare,
    idleTimeout: 0,
    connectionTimeout: connectTimeoutSeconds,
  });
}

/**
 * As libpq does it: `require` encrypts and verifies nothing, unless certificates are given; `verify-ca` verifies who
 * signed the certificate, `verify-full` also the name. An environment that turns verification off has no say in it.
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
