import type { Database, Statement } from "bun:sqlite";
import type { StoredResponse } from "../../records.ts";
import type { ResponseScope } from "../../store.ts";

interface ResponseRow extends Omit<StoredResponse, "headers" | "recording"> {
  readonly headers: string;
  readonly recordingId: string | null;
  readonly parts: number;
}

/** Reads and prunes the responses that an Idempotency-Key replays. */
export class ResponseTable {
  readonly #database: Database;
  readonly #find: Statement<ResponseRow, [string, string, string, number]>;

  constructor(database: Database) {
    this.#database = database;
    this.#find = database.query(findResponse);
  }

  find({ keyId, route, idempotencyKey }: ResponseScope, notBeforeMs: number): StoredResponse | null {
    const row = this.#find.get(keyId, route, idempotencyKey, notBeforeMs);
    if (row === null) return null;
    const body = this.#wholeBody(row);
    if (body === null) return null;
    const { recordingId, parts, headers, ...rest } = row;
    return { ...rest, headers: JSON.parse(headers) as Record<string, string>, body };
  }

  /** Inside the caller's transaction. */
  prune(beforeMs: number, limit: number): number {
    const rows = this.#database
      .query<{ id: number; recordingId: string | null }, [number, number]>(findOld)
      .all(beforeMs, limit);
    const deleteResponse = this.#database.query("DELETE FROM responses WHERE id = ?");
    const deleteParts = this.#database.query("DELETE FROM response_parts WHERE recording_id = ?");
    for (const { id, recordingId } of rows) {
      deleteResponse.run(id);
      if (recordingId !== null) deleteParts.run(recordingId);
    }
    return rows.length;
  }

  /** Parts whose response never came: the process ended before. Inside the caller's transaction. */
  deleteOrphans(): void {
    this.#database.run(
      `DELETE FROM response_parts WHERE recording_id NOT IN
        (SELECT recording_id FROM responses WHERE recording_id IS NOT NULL
        UNION ALL SELECT recording_id FROM turns WHERE recording_id IS NOT NULL)`,
    );
  }

  /** Null when a part is missing: half a response must never be replayed as a whole one. */
  #wholeBody({ recordingId, parts: expected, body }: ResponseRow): Uint8Array | null {
    if (recordingId === null) return body;
    const parts = this.#database
      .query<{ body: Uint8Array }, [string]>(
        "SELECT body FROM response_parts WHERE recording_id = ? ORDER BY sequence",
      )
      .all(recordingId);
    if (parts.length !== expected) return null;
    return Buffer.concat([...parts.map((part) => part.body), body]);
  }
}

const findResponse = `
SELECT keys.id AS keyId, route, idempotency_key AS idempotencyKey, body_hash AS bodyHash, responses.status, headers,
  stored_at_ms AS storedAtMs, recording_id AS recordingId, parts, body
FROM responses JOIN keys ON keys.no = responses.key_no
WHERE keys.id = ? AND route = ? AND idempotency_key = ? AND stored_at_ms >= ?`;

const findOld = `
SELECT id, recording_id AS recordingId FROM responses WHERE stored_at_ms < ? ORDER BY stored_at_ms LIMIT ?`;
