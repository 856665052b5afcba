/** A value of a statement. Lists need a cast, such as `$1::text[]`. */
export type Parameter =
  | string
  | number
  | boolean
  | Uint8Array
  | null
  | readonly (string | number | boolean | null)[];

/**
 * Runs one statement. It is written as PostgreSQL takes it, and SQLite's side replaces the little that it writes in another way
 * (see `sqlite/queries.ts`). int8 arrives from PostgreSQL as a string: select `::float8`, or convert where it may exceed 2^53.
 */
export type Query = <Row>(text: string, parameters?: readonly Parameter[]) => Promise<Row[]>;

/**
 * The statements of one transaction. A SQLite transaction must not be interrupted, because others use the same connection; a
 * PostgreSQL transaction has to be awaited. So the work is a generator: it yields statements, and its runner passes back their rows.
 */
export type Work<Result> = Generator<Statement, Result, unknown[]>;

interface Statement {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

/** One statement of a `Work`: `const rows = yield* query<Row>(…)`. */
export function* query<Row>(text: string, parameters: readonly Parameter[] = []): Work<Row[]> {
  // What the rows look like is the statement's promise.
  return (yield { text, parameters }) as Row[];
}

/** Database access for code that SQLite and PostgreSQL share. */
export interface Queries {
  /** One statement that changes nothing. */
  readonly read: Query;
  /** One statement, which is a transaction of its own. */
  readonly change: Query;
  /** Several statements that see the same state. */
  readTogether<Result>(work: () => Work<Result>): Promise<Result>;
  /** Several statements in one transaction. */
  changeTogether<Result>(work: () => Work<Result>): Promise<Result>;
}

/** The parameters of a statement that is put together piece by piece. */
export class Parameters {
  readonly all: Parameter[] = [];

  /** Returns the value's placeholder in the statement. */
  add(value: string | number | readonly string[] | readonly number[]): string {
    return `$${this.all.push(value)}::${typeOf(value)}`;
  }
}

function typeOf(value: string | number | readonly string[] | readonly number[]): string {
  if (typeof value === "object") return `${typeOf(value[0] ?? "")}[]`;
  return typeof value === "number" ? "int8" : "text";
}
