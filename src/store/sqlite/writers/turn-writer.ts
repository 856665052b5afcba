import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";
import type { TurnRecord } from "../../turn-records.ts";

/** Most batches fit into one such statement; longer ones gain almost nothing. */
const maxRowsPerStatement = 16;

/** Takes about 5 ms. The next turns of a key continue; long ones make room before they are inserted. */
const maxDeleted = 200;

/** Inserts many rows per statement, because a statement costs about as much as a row. */
class BatchedInsert {
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

interface WaitingTurn {
  readonly keyNo: number;
  readonly turn: TurnRecord;
}

/**
 * Inserts turns inside the batch's transaction. The turns of a batch are inserted together and added to each key's totals once.
 * A trigger subtracts deleted turns from the totals, with everything that belongs to them.
 */
export class TurnWriter {
  readonly #turns: BatchedInsert;
  readonly #items: BatchedInsert;
  readonly #parts: Statement<{ count: number }, [string, number]>;
  readonly #detach: Statement;
  readonly #deleteParts: Statement;
  readonly #delete: Statement;
  readonly #deleteEarlier: Statement;
  readonly #addBytes: Statement;
  readonly #bytes: Statement<{ bytes: number }, [number]>;
  readonly #deleteOldest: Statement;
  #waiting: WaitingTurn[] = [];
  /** No number is used twice while this process runs, even if the newest turn is deleted. */
  #lastNo: number;

  constructor(database: Database) {
    this.#turns = new BatchedInsert(database, `turns (${columns})`, columns.split(",").length);
    this.#items = new BatchedInsert(database, "turn_items (key_no, id_key, turn_no)", 3);
    this.#lastNo = database.query<{ no: number }, []>(selectLastNo).get()?.no ?? 0;
    this.#parts = database.query(
      "SELECT count(*) AS count FROM response_parts WHERE recording_id = ? AND sequence < ?",
    );
    this.#detach = database.query(
      "UPDATE turns SET recording_id = NULL WHERE key_no = ? AND id = ? AND no = ? AND recording_id = ?",
    );
    this.#deleteParts = database.query(deleteUnused);
    this.#delete = database.query("DELETE FROM turns WHERE key_no = ? AND id = ? AND no = ?");
    this.#deleteEarlier = database.query("DELETE FROM turns WHERE key_no = ? AND id = ? AND no < ?");
    this.#addBytes = database.query(addBytes);
    this.#bytes = database.query("SELECT bytes FROM turn_sums WHERE key_no = ?");
    this.#deleteOldest = database.query(
      "DELETE FROM turns WHERE no = (SELECT no FROM turns WHERE key_no = ? ORDER BY no LIMIT 1)",
    );
  }

  /** May be deferred; call `flush` before the batch's transaction ends. */
  insert(keyNo: number, turn: TurnRecord): void {
    if (turn.replaces !== undefined) {
      // The one that it replaces may be waiting.
      this.flush();
      if (!this.#makeRoom(keyNo, turn, turn.replaces)) return;
    }
    this.#waiting.push({ keyNo, turn });
  }

  /** Writes what waits. */
  flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    const limits = this.#count(waiting);
    this.#insertAll(waiting);
    let deleted = 0;
    for (const [keyNo, keyBytes] of limits) {
      for (; deleted < maxDeleted && this.#isOver(keyNo, keyBytes); deleted += 1)
        this.#deleteOldest.run(keyNo);
    }
  }

  #isOver(keyNo: number, keyBytes: number): boolean {
    return (this.#bytes.get(keyNo)?.bytes ?? 0) > keyBytes;
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#waiting = [];
  }

  /** Deletes the turn whose place another one takes. False if it takes none. */
  #makeRoom(keyNo: number, { id, recording }: TurnRecord, replaces: number): boolean {
    // What lacks a part that was written ahead must not take the place of something whole.
    const isWhole =
      recording === undefined || this.#parts.get(recording.id, recording.parts)?.count === recording.parts;
    // The new turn may continue the old one's recording, which would be deleted with the old turn.
    if (isWhole && recording) this.#detach.run(keyNo, id, replaces, recording.id);
    if (isWhole && this.#delete.run(keyNo, id, replaces).changes > 0) return true;
    if (recording) this.#deleteParts.run(recording.id, keyNo, id, recording.id);
    return false;
  }

  /** Before the turns are inserted: one of them may be deleted again. Returns how many bytes each key may have. */
  #count(waiting: readonly WaitingTurn[]): ReadonlyMap<number, number> {
    const added = new Map<number, number>();
    const limits = new Map<number, number>();
    for (const { keyNo, turn } of waiting) {
      added.set(keyNo, (added.get(keyNo) ?? 0) + turn.bytes);
      limits.set(keyNo, turn.keyBytes);
    }
    for (const [keyNo, bytes] of added) this.#addBytes.run(keyNo, bytes);
    return limits;
  }

  #insertAll(waiting: readonly WaitingTurn[]): void {
    const firstNo = this.#lastNo + 1;
    this.#lastNo += waiting.length;
    const rows: SQLQueryBindings[] = [];
    const items: SQLQueryBindings[] = [];
    for (const [place, { keyNo, turn }] of waiting.entries()) {
      pushRow(rows, firstNo + place, keyNo, turn);
      pushItems(items, firstNo + place, keyNo, turn);
    }
    if (this.#turns.run(rows) === waiting.length) this.#items.run(items);
    else this.#insertEach(waiting, firstNo);
  }

  /** A provider may issue an id twice: the newer one counts. */
  #insertEach(waiting: readonly WaitingTurn[], firstNo: number): void {
    for (const [place, { keyNo, turn }] of waiting.entries()) {
      const no = firstNo + place;
      this.#deleteEarlier.run(keyNo, turn.id, no);
      // It may be there already.
      this.#turns.run(pushRow([], no, keyNo, turn));
      this.#items.run(pushItems([], no, keyNo, turn));
    }
  }
}

const columns =
  "no, key_no, id, parent_id, model, provider, created_at_ms, expires_at_ms, bytes, recording_id, parts, body, request, items";

const selectLastNo = "SELECT max(no) AS no FROM turns";

function pushRow(rows: SQLQueryBindings[], no: number, keyNo: number, turn: TurnRecord): SQLQueryBindings[] {
  rows.push(no, keyNo, turn.id, turn.parentId, turn.model, turn.provider, turn.createdAtMs, turn.expiresAtMs);
  rows.push(
    turn.bytes,
    turn.recording?.id ?? null,
    turn.recording?.parts ?? 0,
    turn.body,
    turn.request ?? null,
    itemsColumn(turn.items),
  );
  return rows;
}

/** A JSON array. What items are found by needs no escapes. */
function itemsColumn(items: readonly string[]): string {
  return items.length === 0 ? "[]" : `["${items.join('","')}"]`;
}

function pushItems(
  items: SQLQueryBindings[],
  no: number,
  keyNo: number,
  turn: TurnRecord,
): SQLQueryBindings[] {
  for (const item of turn.items) items.push(keyNo, item, no);
  return items;
}

const addBytes = `
INSERT INTO turn_sums (key_no, bytes) VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes`;

/** Unless the turn that is there has the same recording. */
const deleteUnused = `
DELETE FROM response_parts WHERE recording_id = ?
  AND NOT EXISTS (SELECT 1 FROM turns WHERE key_no = ? AND id = ? AND recording_id = ?)`;
