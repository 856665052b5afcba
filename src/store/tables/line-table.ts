import type {
  BatchEnd,
  ClaimedLine,
  LineEnd,
  LineRecords,
  LineResult,
  OwnedLine,
  RestCode,
} from "../batch-records.ts";
import { type Queries, query, type Work } from "../query.ts";
import { addOwnBytes, minStoredBytes } from "./file-table.ts";
import { bodyInParts, type LongBody, wholeBody } from "./long-body.ts";

/** What each database does in its own way. */
export interface LineStatements {
  /** A condition over rows of this table with a `node_no`: that process is gone, and has no holds any more. */
  isAbandoned(table: string): string;
}

export function storedLines(
  { read, change, changeTogether }: Queries,
  { isAbandoned }: LineStatements,
): LineRecords {
  return {
    addLines: (batchId, lines, bytesPerKey) =>
      changeTogether(function* () {
        const bytes = lines.reduce((sum, { customId }) => sum + lineBytes(customId), 0);
        if (!(yield* addOwnBytes(batchId, bytes, bytesPerKey))) return false;
        const rows = lines.map(({ no, customId, start, length, model }) => [
          no,
          customId,
          start,
          length,
          model,
        ]);
        yield* query(insertLines, [batchId, JSON.stringify(rows)]);
        return true;
      }),

    async results(batchId, kind, afterNo, limit) {
      const rows = await read<ResultRow>(
        `${selectResults} AND ${ofKind[kind]} AND l.no > $2::int8 ORDER BY l.no LIMIT $3::int8`,
        [batchId, afterNo, limit],
      );
      return rows.map(resultOf);
    },

    async charged(batchId, no) {
      const [row] = await read<LongBody & { status: number; headers: string }>(selectCharged, [
        batchId,
        String(no),
      ]);
      if (row === undefined) return null;
      const { headers, ...response } = row;
      const kept: Readonly<Record<string, string>> = JSON.parse(headers);
      return { ...response, requestId: kept["x-request-id"] ?? "" };
    },

    whole: (body) => wholeBody(read, body),

    inParts: (body) => bodyInParts(read, body),

    claim: (batchId, node, nowMs, except) => changeTogether(() => claimed(batchId, node, nowMs, except)),

    async requeue({ batchId, no, node }, dueAtMs, hasReached, isCancelled = false) {
      await change(
        `UPDATE batch_lines SET state = 0, due_at_ms = $4::int8, tries = tries + $5::int8, cancellations = cancellations + $6::int8,
          provider_batch_no = NULL, hold_id = NULL
        WHERE ${isOwned}`,
        [batchId, no, node, dueAtMs, Number(hasReached), Number(isCancelled)],
      );
    },

    endLine: (line, result, batchEnd) => changeTogether(() => ended(line, result, batchEnd)),

    finish: (batchId, status, restCode, end) =>
      changeTogether(() => finished(batchId, { status, restCode }, end)),

    async free(node, running) {
      // A line at a provider, or on its way there, has a hold's id, which may be empty. It does not run here.
      const freed = await change<{ holdId: string | null }>(
        `UPDATE batch_lines SET state = CASE WHEN provider_batch_no IS NULL THEN 0 ELSE 3 END,
          crashes = crashes + CASE WHEN hold_id IS NULL THEN 1 ELSE 0 END WHERE state = 1
          AND NOT ((SELECT b.id FROM batches b WHERE b.no = batch_no) || ' ' || CAST(no AS text) = ANY ($2::text[]))
          AND (node_no = $1::int8 OR ${isAbandoned("batch_lines")}) RETURNING hold_id AS "holdId"`,
        [node, running],
      );
      return freed.filter(({ holdId }) => holdId === null).length;
    },

    deleteResults: (batchId, kind, afterNo, limit) =>
      changeTogether(() => deletedResults(batchId, kind, afterNo, limit)),
  };
}

/** What a line takes, but for its result: its client's name, and a row. */
function lineBytes(customId: string): number {
  return Buffer.byteLength(customId) + 64;
}

const insertLines = `
INSERT INTO batch_lines (batch_no, no, custom_id, start, length, model)
SELECT (SELECT no FROM batches WHERE id = $1::text), (e.value ->> 0)::int8, e.value ->> 1, (e.value ->> 2)::int8, (e.value ->> 3)::int8, e.value ->> 4
FROM json_array_elements($2::text::json) AS e`;

interface ResultRow extends Omit<LineResult, "response">, Omit<LongBody, "body"> {
  readonly body: Uint8Array | null;
}

const responseOfLine = `r.key_no = b.key_no AND r.route = 'batch:' || b.id AND r.idempotency_key = CAST(l.no AS text)`;

const selectResults = `
SELECT l.no::float8 AS no, l.custom_id AS "customId", l.status, l.request_id AS "requestId", l.error, r.recording_id AS "recordingId",
  coalesce(r.parts, 0) AS parts, r.body
FROM batches b JOIN batch_lines l ON l.batch_no = b.no LEFT JOIN responses r ON ${responseOfLine} AND r.stored_at_ms IS NOT NULL
WHERE b.id = $1::text`;

const selectCharged = `
SELECT r.status, r.headers, r.recording_id AS "recordingId", r.parts, r.body FROM batches b JOIN responses r ON r.key_no = b.key_no
WHERE b.id = $1::text AND r.route = 'batch:' || $1::text AND r.idempotency_key = $2::text AND r.stored_at_ms IS NOT NULL`;

const ofKind = {
  output: "l.status = 200",
  errors: "(l.status IS NULL OR l.status <> 200)",
  all: "l.no >= 0",
} as const;

function resultOf({ recordingId, parts, body, ...row }: ResultRow): LineResult {
  return { ...row, response: body === null ? null : { recordingId, parts, body } };
}

/** A condition over `batch_lines`: a process runs it. */
export const isOwned = `batch_no = (SELECT no FROM batches WHERE id = $1::text) AND no = $2::int8 AND node_no = $3::int8 AND state = 1`;

/** No line is put off for so long. */
const clockWasWrongMs = 600_000;

/** The batch's row is locked first, so that no line starts once a cancellation was answered. */
function* claimed(
  batchId: string,
  node: number,
  nowMs: number,
  except: readonly string[],
): Work<ClaimedLine | null> {
  const [batch] = yield* query<{ no: number }>(
    `SELECT no::float8 AS no FROM batches WHERE id = $1::text AND status = 'in_progress' AND is_paused = 0 FOR NO KEY UPDATE`,
    [batchId],
  );
  if (batch === undefined) return null;
  const [line] = yield* query<Omit<ClaimedLine, "batchId" | "node">>(
    `UPDATE batch_lines SET state = 1, node_no = $2::int8, hold_id = NULL WHERE batch_no = $1::int8 AND no =
      (SELECT no FROM batch_lines WHERE batch_no = $1::int8 AND state = 0
        AND (due_at_ms <= $3::int8 OR due_at_ms > $3::int8 + ${clockWasWrongMs})
        AND (model IS NULL OR NOT (model = ANY ($4::text[]))) ORDER BY no LIMIT 1)
    RETURNING no::float8 AS no, model, custom_id AS "customId", start::float8 AS start, length::float8 AS length, crashes, tries, cancellations`,
    [batch.no, node, nowMs, except],
  );
  return line === undefined ? null : { ...line, batchId, node };
}

function* ended(
  { batchId, no, node }: OwnedLine,
  { status, requestId, error, bytes, charged, ...tokens }: LineEnd,
  end: BatchEnd,
): Work<boolean> {
  // First the batch, as those who claim do.
  yield* query("SELECT no FROM batches WHERE id = $1::text FOR NO KEY UPDATE", [batchId]);
  const rows = yield* query(
    `UPDATE batch_lines SET state = 2, status = $4::int8, request_id = $5::text, error = $6 WHERE ${isOwned} RETURNING no`,
    [batchId, no, node, status, requestId, error],
  );
  if (rows.length === 0) return false;
  const isOk = status === 200;
  const [batch] = yield* query<{ isLast: boolean | number; isCancelling: boolean | number }>(
    `UPDATE batches SET completed = completed + $2::int8, failed = failed + $3::int8, output_bytes = output_bytes + $4::int8,
      error_bytes = error_bytes + $5::int8, input_tokens = input_tokens + $6::int8, cached_tokens = cached_tokens + $7::int8,
      output_tokens = output_tokens + $8::int8, reasoning_tokens = reasoning_tokens + $9::int8, charged = charged + $10::int8, waits_for = NULL, waits_since_ms = NULL
    WHERE id = $1::text
    RETURNING completed + failed = total AS "isLast", status = 'cancelling' AS "isCancelling"`,
    [
      ...[batchId, isOk ? 1 : 0, isOk ? 0 : 1, isOk ? bytes : 0, isOk ? 0 : bytes],
      ...[tokens.inputTokens, tokens.cachedTokens, tokens.outputTokens, tokens.reasoningTokens],
      charged,
    ],
  );
  if (!batch?.isLast) return true;
  const ending = batch.isCancelling ? "cancelled" : "completed";
  yield* finished(batchId, { status: ending, restCode: "batch_cancelled" }, end);
  return true;
}

/** What is written of a line that never ran, in addition to its id. */
const restBytes = 160;

function* finished(
  batchId: string,
  { status, restCode }: { readonly status: string; readonly restCode: RestCode },
  { atMs, keptUntilMs, outputUntilMs, outputFileId, errorFileId }: BatchEnd,
): Work<boolean> {
  const [batch] = yield* query<{ no: number; completed: number; failed: number }>(
    `UPDATE batches SET status = $2::text, rest_code = $3::text, ended_at_ms = $4::int8, kept_until_ms = $5::int8, waits_for = NULL,
      waits_since_ms = NULL, error_bytes = error_bytes + (total - completed - failed) * ${restBytes}, rest = total - completed - failed,
      failed = total - completed
    WHERE id = $1::text AND ended_at_ms IS NULL
      AND NOT EXISTS (SELECT 1 FROM batch_lines l WHERE l.batch_no = batches.no AND l.state IN (1, 3))
    RETURNING no::float8 AS no, completed::float8 AS completed, failed::float8 AS failed`,
    [batchId, status, restCode, atMs, keptUntilMs],
  );
  if (batch === undefined) return false;
  if (batch.completed > 0) yield* addOutput(batch.no, "output", outputFileId, atMs, outputUntilMs);
  if (batch.failed > 0) yield* addOutput(batch.no, "errors", errorFileId, atMs, outputUntilMs);
  return true;
}

function* addOutput(
  batchNo: number,
  kind: "output" | "errors",
  id: string,
  atMs: number,
  expiresAtMs: number,
): Work<void> {
  const bytes = kind === "output" ? "output_bytes" : "error_bytes";
  yield* query(
    `INSERT INTO files (id, key_no, account_no, kind, name, bytes, batch_id, created_at_ms, expires_at_ms)
    SELECT $2::text, key_no, account_no, $3::text, id || '_' || $3::text || '.jsonl', ${bytes}, id, $4::int8, $5::int8 FROM batches WHERE no = $1::int8`,
    [batchNo, id, kind, atMs, expiresAtMs],
  );
}

function* deletedResults(
  batchId: string,
  kind: "output" | "errors",
  afterNo: number,
  limit: number,
): Work<number | null> {
  const lines = yield* query<{ no: number; customId: string }>(
    `SELECT l.no::float8 AS no, l.custom_id AS "customId" FROM batches b JOIN batch_lines l ON l.batch_no = b.no
    WHERE b.id = $1::text AND ${ofKind[kind]} AND l.no > $2::int8 ORDER BY l.no LIMIT $3::int8`,
    [batchId, afterNo, limit],
  );
  const numbers = lines.map(({ no }) => no);
  const gone = yield* query<{ recordingId: string | null }>(
    `DELETE FROM responses WHERE key_no = (SELECT key_no FROM batches WHERE id = $1::text) AND route = 'batch:' || $1::text
      AND idempotency_key = ANY ($2::text[]) RETURNING recording_id AS "recordingId"`,
    [batchId, numbers.map(String)],
  );
  const recordings = gone.flatMap(({ recordingId }) => recordingId ?? []);
  yield* query("DELETE FROM response_parts WHERE recording_id = ANY ($1::text[])", [recordings]);
  yield* query(
    `DELETE FROM batch_lines WHERE batch_no = (SELECT no FROM batches WHERE id = $1::text) AND no = ANY ($2::int8[])`,
    [batchId, numbers],
  );
  const freed = lines.reduce((sum, { customId }) => sum + lineBytes(customId), 0);
  const bytes = kind === "output" ? "output_bytes" : "error_bytes";
  yield* query(
    `UPDATE batches SET ${bytes} = 0, own_bytes = CASE WHEN own_bytes - $2::int8 < ${minStoredBytes} THEN ${minStoredBytes} ELSE own_bytes - $2::int8 END
    WHERE id = $1::text`,
    [batchId, freed],
  );
  return numbers.at(-1) ?? null;
}
