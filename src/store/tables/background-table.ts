import type {
  BackgroundEnd,
  BackgroundRecord,
  BackgroundRecords,
  EventPart,
  OwnedBackground,
  StoredBackground,
} from "../background-records.ts";
import { type Queries, query, type Work } from "../query.ts";
import type { StoredResponse, TurnRecord } from "../records.ts";
import { type LongBody, wholeBody } from "./long-body.ts";
import { any, type Flagged, firstAs, unflagged } from "./rows.ts";

/**
 * The statements that differ between the databases: turns are written by SQLite's journal, and by a function in
 * PostgreSQL.
 */
export interface BackgroundStatements {
  begin(begun: BackgroundRecord, turn: TurnRecord, response: StoredResponse | null): Promise<void>;
  progress(owned: OwnedBackground): Promise<boolean>;
  end(end: BackgroundEnd): Promise<void>;
  /** A condition over `background_responses`: its process is gone, and has no more holds. */
  readonly isAbandoned: string;
}

export function storedBackgrounds(
  { read, change }: Queries,
  { begin, progress, end, isAbandoned }: BackgroundStatements,
): BackgroundRecords {
  return {
    begin,
    end,
    progress,

    addEvents: ({ id, node }, { first, count, body }) =>
      change(insertEvents, [id, node, first, count, body]).then(any),

    find: (keyId, id) =>
      read<BackgroundRow>(
        `SELECT ${columns} FROM background_responses b JOIN keys k ON k.no = b.key_no WHERE b.id = $1::text AND k.id = $2::text`,
        [id, keyId],
      ).then(firstAs(stored)),

    async readCall(id) {
      const [row] = await read<LongBody>(
        `SELECT recording_id AS "recordingId", parts, call AS body FROM background_responses WHERE id = $1::text AND state = 'queued'`,
        [id],
      );
      return row === undefined ? null : wholeBody(read, row);
    },

    eventsFrom: (id, position) =>
      read<EventPart>(
        `SELECT first::float8 AS first, count::float8 AS count, body FROM background_events
        WHERE response_id = $1::text AND first <= $2::int8 ORDER BY first DESC LIMIT 1`,
        [id, position],
      ).then(firstAs((part) => (part.first + part.count > position ? part : null))),

    async countEvents(id) {
      const [row] = await read<{ count: number }>(
        "SELECT coalesce(max(first + count), 0)::float8 AS count FROM background_events WHERE response_id = $1::text",
        [id],
      );
      return row?.count ?? 0;
    },

    async countElsewhere(keyId, node) {
      const [row] = await read<{ count: number }>(
        `SELECT count(*)::float8 AS count FROM background_responses
        WHERE key_no = (SELECT no FROM keys WHERE id = $1::text) AND state <> 'ended' AND node_no <> $2::int8`,
        [keyId, node],
      );
      return row?.count ?? 0;
    },

    async cancel(keyId, id) {
      await change(
        `UPDATE background_responses SET is_cancelled = 1
        WHERE id = $1::text AND key_no = (SELECT no FROM keys WHERE id = $2::text) AND state <> 'ended'`,
        [id, keyId],
      );
    },

    async cancelledOn(node) {
      const rows = await read<{ id: string }>(
        "SELECT id FROM background_responses WHERE state <> 'ended' AND is_cancelled = 1 AND node_no = $1::int8",
        [node],
      );
      return rows.map(({ id }) => id);
    },

    /** The second of two processes waits for the first, and then finds that it is not abandoned. */
    async adopt(node, running) {
      const adopted = await change<BackgroundRow>(
        `UPDATE background_responses AS b SET node_no = $1::int8, runs = runs + 1
        WHERE state <> 'ended' AND NOT (b.id = ANY ($2::text[])) AND (node_no = $1::int8 OR ${isAbandoned})
        RETURNING ${columns.replace("k.id", "(SELECT id FROM keys WHERE no = key_no)").replaceAll("b.", "")}`,
        [node, running],
      );
      return adopted.map(stored);
    },

    delete: async (keyId, id) => {
      await change(
        "DELETE FROM background_responses WHERE id = $1::text AND key_no = (SELECT no FROM keys WHERE id = $2::text)",
        [id, keyId],
      );
    },

    prune: async (endedBeforeMs) => {
      await change(
        `DELETE FROM background_responses WHERE ended_at_ms < $1::int8
          OR (ended_at_ms IS NOT NULL AND key_no IN (SELECT no FROM keys WHERE status = 'revoked'))`,
        [endedBeforeMs],
      );
    },
  };
}

/** A row as a statement of either database inserts it. */
export const insertBackground = `
INSERT INTO background_responses (id, key_no, node_no, is_streamed, created_at_ms, recording_id, parts, call)
SELECT $1::text, no, $3::int8, $4::int8, $5::int8, $6::text, $7::int8, $8 FROM keys WHERE keys.id = $2::text`;

export function backgroundValues(begun: BackgroundRecord) {
  const { id, keyId, node, isStreamed, createdAtMs, recording, call } = begun;
  const isStreamedNo = isStreamed ? 1 : 0;
  return [id, keyId, node, isStreamedNo, createdAtMs, recording?.id ?? null, recording?.parts ?? 0, call];
}

const isOwned = "id = $1::text AND node_no = $2::int8 AND state <> 'ended'";

const insertEvents = `
INSERT INTO background_events (response_id, first, count, body)
SELECT id, $3::int8, $4::int8, $5 FROM background_responses WHERE ${isOwned} RETURNING first`;

/** Returns whether it is still this process's. */
export function* progressBackground({ id, node }: OwnedBackground): Work<boolean> {
  yield* dropCall(id, node);
  const rows = yield* query(
    `UPDATE background_responses SET state = 'in_progress', call = $3, recording_id = NULL, parts = 0
    WHERE ${isOwned} RETURNING id`,
    [id, node, new Uint8Array()],
  );
  return rows.length > 0;
}

/** Returns whether it is still this process's. What has no events is forgotten. */
export function* endBackground({ owned, atMs, last }: BackgroundEnd): Work<boolean> {
  const { id, node } = owned;
  yield* dropCall(id, node);
  if (last !== null) yield* query(insertEvents, [id, node, last.first, last.count, last.body]);
  const ended = yield* query(
    `UPDATE background_responses SET state = 'ended', ended_at_ms = $3::int8, call = $4, recording_id = NULL, parts = 0
    WHERE ${isOwned} RETURNING id`,
    [id, node, atMs, new Uint8Array()],
  );
  if (ended.length === 0) return false;
  yield* query("DELETE FROM background_responses WHERE id = $1::text AND is_streamed = 0", [id]);
  return true;
}

function* dropCall(id: string, node: number): Work<void> {
  yield* query(
    `DELETE FROM response_parts WHERE recording_id = (SELECT recording_id FROM background_responses WHERE ${isOwned})`,
    [id, node],
  );
}

type BackgroundRow = Flagged<StoredBackground, "isStreamed" | "isCancelled">;

const columns = `b.id, k.id AS "keyId", b.node_no::float8 AS node, b.is_streamed AS "isStreamed", b.created_at_ms::float8 AS "createdAtMs",
  b.state, b.is_cancelled AS "isCancelled", b.runs`;

function stored(row: BackgroundRow): StoredBackground {
  return unflagged(row, "isStreamed", "isCancelled");
}
