import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";

/** Most batches fit into one such statement; longer ones gain almost nothing. */
const maxRowsPerStatement = 16;

/** Inserts many rows per statement, because a statement costs about as much as a row. */
export class BatchedInsert {
  readonly #database: Database;
  readonly #into: string;
  readonly #columns: number;
  /** By the number of rows they insert, prepared when first needed. */
  readonly #statements: Statement[] = [];

  /** Rows that break a unique index are left out. `into` is the table with its columns. */
  constructor(database: Database, into: string, columns: number) {
    this.#database = database;
    this.#into = into;
    this.#columns = columns;
  }

  /** Takes the values of all rows, one after the other. Returns how many were inserted. */
  run(values: readonly SQLQueryBindings[]): number {
    const perStatement = maxRowsPerStatement * this.#columns;
    let inserted = 0;
    for (let at = 0; at < values.length; at += perStatement) {
      const bound = values.slice(at, at + perStatement);
      inserted += this.#statementFor(bound.length / this.#columns).run(bound).changes;
    }
    return inserted;
  }

  #statementFor(rows: number): Statement {
    const row = `(${Array(this.#columns).fill("?").join(", ")})`;
    this.#statements[rows] ??= this.#database.query(
      `INSERT INTO ${this.#into} VALUES ${Array(rows).fill(row).join(", ")} ON CONFLICT DO NOTHING`,
    );
    return this.#statements[rows];
  }
}
