import type { Database, Statement } from "bun:sqlite";
import type { TurnRecord } from "../../turn-records.ts";

const nothingChanged = { changes: 0 };

/** Inserts turns; inside the batch's transaction. Triggers keep the sums, and delete what belongs to a turn. */
export class TurnWriter {
  readonly #parts: Statement<{ count: number }, [string]>;
  readonly #deleteParts: Statement;
  readonly #delete: Statement;
  readonly #insert: Statement;
  readonly #insertItem: Statement;
  readonly #bytes: Statement<{ bytes: number }, [number]>;
  readonly #deleteOldest: Statement;

  constructor(database: Database) {
    this.#parts = database.query("SELECT count(*) AS count FROM response_parts WHERE recording_id = ?");
    this.#deleteParts = database.query("DELETE FROM response_parts WHERE recording_id = ?");
    this.#delete = database.query("DELETE FROM turns WHERE key_no = ? AND id = ? AND no = coalesce(?, no)");
    this.#insert = database.query(insertTurn);
    this.#insertItem = database.query("INSERT OR IGNORE INTO turn_items VALUES (?, ?, ?)");
    this.#bytes = database.query("SELECT bytes FROM turn_sums WHERE key_no = ?");
    this.#deleteOldest = database.query(
      "DELETE FROM turns WHERE no = (SELECT no FROM turns WHERE key_no = ? ORDER BY no LIMIT 1)",
    );
  }

  /** A provider may give an id twice: the newer one counts. */
  insert(keyNo: number, turn: TurnRecord): void {
    const { replaces = null, recording } = turn;
    // What lacks a part that was written ahead must not take the place of something whole.
    const isLacking =
      replaces !== null && recording && this.#parts.get(recording.id)?.count !== recording.parts;
    const { changes } = isLacking ? nothingChanged : this.#delete.run(keyNo, turn.id, replaces);
    if (replaces !== null && changes === 0) {
      if (recording) this.#deleteParts.run(recording.id);
      return;
    }
    const { lastInsertRowid } = this.#insert.run(
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
    );
    for (const digest of turn.items) this.#insertItem.run(keyNo, digest, lastInsertRowid);
    while ((this.#bytes.get(keyNo)?.bytes ?? 0) > turn.keyBytes) this.#deleteOldest.run(keyNo);
  }
}

const insertTurn = `
INSERT INTO turns (key_no, id, parent_id, model, provider, created_at_ms, expires_at_ms, bytes, recording_id, parts, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
