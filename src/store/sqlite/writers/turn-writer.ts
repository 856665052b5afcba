import type { Database } from "bun:sqlite";
import type { TurnRecord } from "../../turn-records.ts";
import { insertNamed } from "../queries.ts";

/** Takes about 5 ms. The next turns of a key continue; long ones make room before they are inserted. */
const maxDeleted = 200;

/**
 * Inserts turns inside the batch's transaction. A trigger subtracts deleted turns from a key's totals, with everything that
 * belongs to them.
 */
export class TurnWriter {
  readonly #statements: ReturnType<typeof statementsOf>;
  /** Maximum bytes of turns for each key of this batch. */
  readonly #limits = new Map<number, number>();
  /** No number is used twice while this process runs, even if the newest turn is deleted. */
  #lastNo: number;

  constructor(database: Database) {
    this.#statements = statementsOf(database);
    this.#lastNo = database.query<{ no: number }, []>("SELECT max(no) AS no FROM turns").get()?.no ?? 0;
  }

  /** Call `makeRoom` before the batch's transaction ends. */
  insert(keyNo: number, turn: TurnRecord): void {
    if (turn.replaces !== undefined && !this.#takePlace(keyNo, turn, turn.replaces)) return;
    this.#lastNo += 1;
    const no = this.#lastNo;
    // Before the turn: another one with its id may be deleted, which the totals lose.
    this.#statements.addBytes.run(keyNo, turn.bytes);
    this.#limits.set(keyNo, turn.keyBytes);
    const row = turnRow(no, keyNo, turn);
    if (this.#statements.insert.run(row).changes === 0) {
      // A provider may issue an id twice: the newer one counts.
      this.#statements.deleteEarlier.run(keyNo, turn.id, no);
      this.#statements.insert.run(row);
    }
    for (const item of turn.items) this.#statements.insertItem.run(keyNo, item, no);
  }

  /** Deletes the oldest turns of keys that have too many bytes. */
  makeRoom(): void {
    let deleted = 0;
    for (const [keyNo, keyBytes] of this.#limits) {
      for (; deleted < maxDeleted && this.#isOver(keyNo, keyBytes); deleted += 1)
        this.#statements.deleteOldest.run(keyNo);
    }
    this.#limits.clear();
  }

  #isOver(keyNo: number, keyBytes: number): boolean {
    return (this.#statements.bytes.get(keyNo)?.bytes ?? 0) > keyBytes;
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#limits.clear();
  }

  /** Deletes the turn whose place another one takes. False if it takes none. */
  #takePlace(keyNo: number, { id, recording }: TurnRecord, replaces: number): boolean {
    // What lacks a part that was written ahead must not take the place of something whole.
    const isWhole =
      recording === undefined ||
      this.#statements.parts.get(recording.id, recording.parts)?.count === recording.parts;
    // The new turn may continue the old one's recording, which would be deleted with the old turn.
    if (isWhole && recording) this.#statements.detach.run(keyNo, id, replaces, recording.id);
    if (isWhole && this.#statements.delete.run(keyNo, id, replaces).changes > 0) return true;
    if (recording) this.#statements.deleteParts.run(recording.id, keyNo, id, recording.id);
    return false;
  }
}

/** Prepared once: the database caches few. */
const statementsOf = (database: Database) => ({
  insert: database.query(insertTurn),
  insertItem: database.query(
    "INSERT INTO turn_items (key_no, id_key, turn_no) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  ),
  parts: database.query<{ count: number }, [string, number]>(
    "SELECT count(*) AS count FROM response_parts WHERE recording_id = ? AND sequence < ?",
  ),
  detach: database.query(
    "UPDATE turns SET recording_id = NULL WHERE key_no = ? AND id = ? AND no = ? AND recording_id = ?",
  ),
  /** Unless the turn that is there has the same recording. */
  deleteParts: database.query(
    `DELETE FROM response_parts WHERE recording_id = ?
    AND NOT EXISTS (SELECT 1 FROM turns WHERE key_no = ? AND id = ? AND recording_id = ?)`,
  ),
  delete: database.query("DELETE FROM turns WHERE key_no = ? AND id = ? AND no = ?"),
  deleteEarlier: database.query("DELETE FROM turns WHERE key_no = ? AND id = ? AND no < ?"),
  addBytes: database.query(
    `INSERT INTO turn_sums (key_no, bytes) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes`,
  ),
  bytes: database.query<{ bytes: number }, [number]>("SELECT bytes FROM turn_sums WHERE key_no = ?"),
  deleteOldest: database.query(
    "DELETE FROM turns WHERE no = (SELECT no FROM turns WHERE key_no = ? ORDER BY no LIMIT 1)",
  ),
});

const insertTurn = `${insertNamed("turns", [
  ...["no", "key_no", "id", "parent_id", "model", "provider", "created_at_ms", "expires_at_ms", "bytes"],
  ...["recording_id", "parts", "body", "request", "items"],
])} ON CONFLICT DO NOTHING`;

function turnRow(no: number, keyNo: number, turn: TurnRecord) {
  return {
    no,
    key_no: keyNo,
    id: turn.id,
    parent_id: turn.parentId,
    model: turn.model,
    provider: turn.provider,
    created_at_ms: turn.createdAtMs,
    expires_at_ms: turn.expiresAtMs,
    bytes: turn.bytes,
    recording_id: turn.recording?.id ?? null,
    parts: turn.recording?.parts ?? 0,
    body: turn.body,
    request: turn.request ?? null,
    items: itemsColumn(turn.items),
  };
}

/** A JSON array. What items are found by needs no escapes. */
function itemsColumn(items: readonly string[]): string {
  return items.length === 0 ? "[]" : `["${items.join('","')}"]`;
}
