import type { Database, Statement } from "bun:sqlite";
import type { TurnRecord } from "../../turn-records.ts";

/** Inserts turns; inside the batch's transaction. Triggers keep the sums, and delete what belongs to a turn. */
export class TurnWriter {
  readonly #parts: Statement<{ count: number }, [string, number]>;
  readonly #detach: Statement;
  readonly #deleteParts: Statement;
  readonly #delete: Statement;
  readonly #insert: Statement;
  readonly #insertItem: Statement;
  readonly #bytes: Statement<{ bytes: number }, [number]>;
  readonly #deleteOldest: Statement;

  constructor(database: Database) {
    this.#parts = database.query(
      "SELECT count(*) AS count FROM response_parts WHERE recording_id = ? AND sequence < ?",
    );
    this.#detach = database.query(
      "UPDATE turns SET recording_id = NULL WHERE key_no = ? AND id = ? AND no = ? AND recording_id = ?",
    );
    this.#deleteParts = database.query(deleteUnused);
    this.#delete = database.query("DELETE FROM turns WHERE key_no = ? AND id = ? AND no = coalesce(?, no)");
    this.#insert = database.query(insertTurn);
    this.#insertItem = database.query("INSERT OR IGNORE INTO turn_items VALUES (?, ?, ?)");
    this.#bytes = database.query("SELECT bytes FROM turn_sums WHERE key_no = ?");
    this.#deleteOldest = database.query(
      "DELETE FROM turns WHERE no = (SELECT no FROM turns WHERE key_no = ? ORDER BY no LIMIT 1)",
    );
  }

  insert(keyNo: number, turn: TurnRecord): void {
    if (turn.replaces !== undefined && !this.#makeRoom(keyNo, turn, turn.replaces)) return;
    const inserted = this.#insertRow(keyNo, turn);
    for (const digest of turn.items) this.#insertItem.run(keyNo, digest, inserted);
    while ((this.#bytes.get(keyNo)?.bytes ?? 0) > turn.keyBytes) this.#deleteOldest.run(keyNo);
  }

  /** Deletes the turn whose place another one takes. False if it takes none. */
  #makeRoom(keyNo: number, { id, recording }: TurnRecord, replaces: number): boolean {
    // What lacks a part that was written ahead must not take the place of something whole.
    const isWhole =
      recording === undefined || this.#parts.get(recording.id, recording.parts)?.count === recording.parts;
    // It may go on with the parts of the one before, which would be deleted with that.
    if (isWhole && recording) this.#detach.run(keyNo, id, replaces, recording.id);
    if (isWhole && this.#delete.run(keyNo, id, replaces).changes > 0) return true;
    if (recording) this.#deleteParts.run(recording.id, keyNo, id, recording.id);
    return false;
  }

  #insertRow(keyNo: number, turn: TurnRecord): number | bigint {
    const row = [
      keyNo,
      turn.id,
      turn.parentId,
      turn.model,
      turn.provider,
      turn.createdAtMs,
      turn.expiresAtMs,
      turn.bytes,
      turn.recording?.id ?? null,
      turn.recording?.parts ?? 0,
      turn.body,
    ];
    const { changes, lastInsertRowid } = this.#insert.run(...row);
    if (changes > 0) return lastInsertRowid;
    // A provider may give an id twice: the newer one counts.
    this.#delete.run(keyNo, turn.id, null);
    return this.#insert.run(...row).lastInsertRowid;
  }
}

/** Unless the turn that is there has the same recording. */
const deleteUnused = `
DELETE FROM response_parts WHERE recording_id = ?
  AND NOT EXISTS (SELECT 1 FROM turns WHERE key_no = ? AND id = ? AND recording_id = ?)`;

const insertTurn = `
INSERT INTO turns (key_no, id, parent_id, model, provider, created_at_ms, expires_at_ms, bytes, recording_id, parts, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key_no, id) DO NOTHING`;
