import type { ClaimedLine, OwnedLine } from "../batch-records.ts";
import type {
  OwnedHold,
  ParkedAmount,
  ParkedHold,
  ProviderBatch,
  ProviderBatchRecords,
} from "../provider-batch-records.ts";
import { type Queries, query, type Work } from "../query.ts";
import { isOwned } from "./line-table.ts";
import { any, type Flagged, firstAs, unflagged } from "./rows.ts";

/** What each database does in its own way. */
export interface ParkStatements {
  /** Lets the holds of a process outlive it. False if it has them no more. */
  parkHolds(holds: readonly OwnedHold[], node: number): Work<boolean>;
}

export function storedProviderBatches(
  { read, change, changeTogether }: Queries,
  { parkHolds }: ParkStatements,
): ProviderBatchRecords {
  return {
    ...linesAtProviders({ read, change, changeTogether }),

    park: (batch, lines, dueAtMs) =>
      changeTogether(function* () {
        const node = lines[0]?.node ?? 0;
        const holds = lines.map(({ hold }) => hold);
        if (!(yield* isRunning(batch.batchId, lines)) || !(yield* parkHolds(holds, node))) return false;
        const { id, batchId, provider, upstreamModel, credential, createdAtMs, terms } = batch;
        const [row] = yield* query<{ no: number }>(insert, [
          ...[id, batchId, provider, upstreamModel, credential, batch.lines, createdAtMs, dueAtMs, terms],
        ]);
        const parked = lines.map(({ no, hold }) => [no, hold.holdId]);
        yield* query(parkLines, [batchId, row?.no ?? 0, JSON.stringify(parked)]);
        return true;
      }),

    async collected(batchId, lines, node) {
      await change(
        `UPDATE batch_lines SET hold_id = '' WHERE batch_no = (SELECT b.no FROM batches b WHERE b.id = $1::text) AND no = ANY ($2::int8[])
          AND state = 1 AND node_no = $3::int8`,
        [batchId, lines, node],
      );
    },

    async parkedAmount(keyId) {
      const [row] = await read<ParkedAmount>(
        `SELECT coalesce(sum(h.amount), 0)::float8 AS account, coalesce(sum(CASE WHEN h.key_no = k.no THEN h.amount END), 0)::float8 AS own FROM keys k JOIN holds h ON coalesce(h.account_no, h.key_no) = k.account_no
        WHERE k.id = $1::text AND h.is_parked = 1`,
        [keyId],
      );
      return row ?? { account: 0, own: 0 };
    },

    sent: (id, providerId, dueAtMs) =>
      change(
        `UPDATE provider_batches SET provider_id = $2::text, due_at_ms = $3::int8, looks = 0
        WHERE id = $1::text AND provider_id IS NULL AND is_over = 0 RETURNING id`,
        [id, providerId, dueAtMs],
      ).then(any),

    claimDue: (batchIds, nowMs, untilMs, except) =>
      change<ProviderBatchRow>(
        `UPDATE provider_batches SET due_at_ms = $3::int8 WHERE no = (SELECT p.no FROM provider_batches p
          WHERE p.batch_no IN (SELECT b.no FROM batches b WHERE b.id = ANY ($1::text[])) AND p.is_over = 0 AND p.due_at_ms <= $2::int8
            AND NOT (p.provider || '/' || p.upstream_model = ANY ($4::text[])) ORDER BY p.due_at_ms LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING ${columns}`,
        [batchIds, nowMs, untilMs, except],
      ).then(firstAs((row) => unflagged(row, "isCancelled"))),

    async postpone(id, dueAtMs, looks) {
      await change("UPDATE provider_batches SET due_at_ms = $2::int8, looks = $3::int8 WHERE id = $1::text", [
        id,
        dueAtMs,
        looks,
      ]);
    },

    async hurry(batchId) {
      await change(
        `UPDATE provider_batches SET due_at_ms = 0 WHERE batch_no = (SELECT no FROM batches WHERE id = $1::text)
          AND is_over = 0 AND provider_id IS NOT NULL`,
        [batchId],
      );
    },

    async cancelled(id) {
      await change("UPDATE provider_batches SET is_cancelled = 1 WHERE id = $1::text", [id]);
    },

    async known(providerIds) {
      const rows = await read<{ id: string }>(
        "SELECT provider_id AS id FROM provider_batches WHERE provider_id = ANY ($1::text[])",
        [providerIds],
      );
      return rows.map(({ id }) => id);
    },

    over: (id) =>
      change(
        `UPDATE provider_batches SET is_over = 1 WHERE id = $1::text
          AND NOT EXISTS (SELECT 1 FROM batch_lines l WHERE l.provider_batch_no = provider_batches.no AND l.state IN (1, 3)) RETURNING id`,
        [id],
      ).then(any),
  };
}

function linesAtProviders({
  read,
  change,
  changeTogether,
}: Pick<Queries, "read" | "change" | "changeTogether">): Pick<
  ProviderBatchRecords,
  "unsettled" | "take" | "giveBack"
> {
  return {
    async unsettled(id, afterNo, limit) {
      const rows = await read<{ no: number }>(
        `SELECT no::float8 AS no FROM batch_lines WHERE provider_batch_no = ${numberOf} AND state = 3 AND no > $2::int8 ORDER BY no LIMIT $3::int8`,
        [id, afterNo, limit],
      );
      return rows.map(({ no }) => no);
    },

    take: (id, no, node) =>
      changeTogether(function* () {
        const [line] = yield* query<Omit<ClaimedLine, "node"> & { holdId: string }>(
          `UPDATE batch_lines SET state = 1, node_no = $3::int8 WHERE provider_batch_no = ${numberOf} AND no = $2::int8 AND state = 3
          RETURNING (SELECT b.id FROM batches b WHERE b.no = batch_no) AS "batchId", no::float8 AS no, custom_id AS "customId",
            start::float8 AS start, length::float8 AS length, crashes, tries, cancellations, hold_id AS "holdId"`,
          [id, no, node],
        );
        if (line === undefined) return null;
        const [hold] = yield* query<ParkedHold>(selectHold, [line.holdId]);
        return { ...line, node, hold: hold ?? null };
      }),

    async giveBack({ batchId, no, node }) {
      await change(`UPDATE batch_lines SET state = 3 WHERE ${isOwned} AND provider_batch_no IS NOT NULL`, [
        batchId,
        no,
        node,
      ]);
    },
  };
}

type ProviderBatchRow = Flagged<ProviderBatch, "isCancelled">;

const columns = `id, (SELECT b.id FROM batches b WHERE b.no = batch_no) AS "batchId", provider, upstream_model AS "upstreamModel", credential, lines, terms, created_at_ms::float8 AS "createdAtMs",
  provider_id AS "providerId", is_cancelled AS "isCancelled", looks`;

const numberOf = "(SELECT p.no FROM provider_batches p WHERE p.id = $1::text)";

/** Locks the batch first, as those who claim its lines do: once a cancellation was answered, nothing is sent. */
function* isRunning(batchId: string, lines: readonly OwnedLine[]): Work<boolean> {
  const [batch] = yield* query<{ no: number }>(
    `SELECT no::float8 AS no FROM batches WHERE id = $1::text AND status = 'in_progress' AND is_paused = 0 FOR NO KEY UPDATE`,
    [batchId],
  );
  if (batch === undefined) return false;
  const [owned] = yield* query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM batch_lines WHERE batch_no = $1::int8 AND no = ANY ($2::int8[]) AND state = 1 AND node_no = $3::int8`,
    [batch.no, lines.map(({ no }) => no), lines[0]?.node ?? 0],
  );
  return owned?.count === lines.length;
}

const insert = `
INSERT INTO provider_batches (id, batch_no, provider, upstream_model, credential, lines, created_at_ms, due_at_ms, terms)
SELECT $1::text, no, $3::text, $4::text, $5::text, $6::int8, $7::int8, $8::int8, $9::text FROM batches WHERE batches.id = $2::text RETURNING no::float8 AS no`;

const parkLines = `
UPDATE batch_lines SET state = 3, provider_batch_no = $2::int8, hold_id = e.value ->> 1
FROM json_array_elements($3::text::json) AS e
WHERE batch_no = (SELECT b.no FROM batches b WHERE b.id = $1::text) AND batch_lines.no = (e.value ->> 0)::int8`;

const selectHolds = `SELECT holds.id AS "holdId", keys.id AS "keyId", accounts.id AS "accountId", accounts.no::float8 AS "accountNo",
  holds.amount::float8 AS amount, holds.opened_at_ms::float8 AS "openedAtMs", holds.counted_at_ms::float8 AS "countedAtMs",
  holds.period_start_ms::float8 AS "periodStartMs", holds.model, holds.asked_model AS "requestedModel", holds.labels
FROM holds JOIN keys ON keys.no = holds.key_no JOIN accounts ON accounts.no = coalesce(holds.account_no, holds.key_no)`;

const selectHold = `${selectHolds} WHERE holds.id = $1::text AND holds.is_parked = 1`;

/** Parked holds of earlier processes, whose memory is gone. */
export function* parkedHolds(): Work<ParkedHold[]> {
  return yield* query<ParkedHold>(`${selectHolds} WHERE holds.is_parked = 1 ORDER BY holds.id`);
}
