import type { ContentRow, ContentStore } from "../../content-store.ts";
import { evictionLevel } from "../../eviction-level.ts";
import { Parameters } from "../../query.ts";
import type { PostgresLocation } from "../../settings.ts";
import { contentReads, contentWhere } from "../../tables/content-table.ts";
import { parseAddress } from "../address.ts";
import { type Parameter, PostgresClient, type Query } from "../client.ts";
import { Database } from "../database.ts";
import { DayPartitions } from "./day-partitions.ts";

/** Frees a little more than needed, so that not every pass deletes. */
const retainedShare = 0.95;
/** Space of a body stored as chunks of 2 KB with their index, and the additional space of a row. */
const bodyShare = 1.05;
const bytesBesideBody = 250;
/** One connection for writes, one for reads. */
const connections = 2;
const deadlineMs = 30_000;
const outageMs = 5_000;
const rowsPerInsert = 100;
const rowsPerRewrite = 100;
/** A rewrite is one transaction. */
const rewriteMs = 3_600_000;

export function openPostgresContent({ url, password, prepare }: PostgresLocation): ContentStore {
  const address = parseAddress(url, password);
  const options = { address, prepare };
  const client = new PostgresClient({ ...options, max: connections, deadlineMs });
  const database = new Database(client, outageMs);
  const days = new DayPartitions(client);
  const writeAll = async (rows: readonly ContentRow[]): Promise<void> => {
    await days.create(rows.map(({ atMs }) => atMs));
    await client.transaction(async (query) => {
      for (let at = 0; at < rows.length; at += rowsPerInsert)
        await insert(query, rows.slice(at, at + rowsPerInsert));
    });
  };
  const rewrite = (partitions: ReadonlySet<string>) =>
    rewritePartitions(new PostgresClient({ ...options, max: 1, deadlineMs: rewriteMs }), partitions);
  return {
    ...contentReads(database.read),

    async write(rows) {
      // Another gateway may have dropped the partition meanwhile; it is created again.
      await writeAll(rows).catch(() => {
        days.forget();
        return writeAll(rows);
      });
    },

    async delete(filter) {
      const parameters = new Parameters();
      const where = contentWhere(filter, parameters);
      const text = `DELETE FROM content WHERE ${where} RETURNING tableoid::regclass::text AS partition`;
      const deleted = await database.change<{ partition: string }>(text, parameters.all);
      const partitions = new Set(deleted.map(({ partition }) => partition));
      if (partitions.size > 0) await rewrite(partitions);
      return deleted.length;
    },

    async prune({ beforeMs, maxBytes }) {
      await days.drop(beforeMs);
      if ((await days.bytes()) <= maxBytes) return;
      const partitions = await evict(client, maxBytes * retainedShare);
      if (partitions.size > 0) await rewrite(partitions);
    },

    async sizes() {
      const [found] = await database.read<{ rows: number }>("SELECT count(*)::float8 AS rows FROM content");
      return { rows: found?.rows ?? 0, bytes: await days.bytes() };
    },

    async rewrite(repack, mark, onProgress) {
      await client.transaction((query) => rewriteAll(query, repack, mark, onProgress), {
        deadlineMs: rewriteMs,
        idleMs: rewriteMs,
      });
    },

    close: () => client.close(),
  };
}

/** Deleted text only disappears from the files when a table is rewritten. Content writes wait meanwhile; requests do not. */
async function rewritePartitions(client: PostgresClient, partitions: ReadonlySet<string>): Promise<void> {
  try {
    for (const partition of partitions) await client.query(`VACUUM FULL ${partition}`);
  } finally {
    await client.close();
  }
}

/** A row takes this on disk, with its entries in indexes. */
const rowBytes = `(${bodyShare} * octet_length(body) + ${bytesBesideBody})`;

/**
 * Deletes the oldest rows of the keys that hold most until the others take this many bytes. Returns the partitions that lost rows.
 */
async function evict(client: PostgresClient, maxBytes: number): Promise<ReadonlySet<string>> {
  const held = await client.query<{ keyId: string; bytes: number }>(
    `SELECT key_id AS "keyId", sum(${rowBytes})::float8 AS bytes FROM content GROUP BY 1`,
  );
  const level = evictionLevel(
    held.map(({ bytes }) => bytes),
    maxBytes,
  );
  const over = held.filter(({ bytes }) => bytes > level).map(({ keyId }) => keyId);
  if (over.length === 0) return new Set();
  const deleted = await client.query<{ partition: string }>(
    `WITH aged AS (
      SELECT id, at_ms, sum(${rowBytes}) OVER (PARTITION BY key_id ORDER BY at_ms DESC, id DESC) AS newest
      FROM content WHERE key_id = ANY ($1::text[]))
    DELETE FROM content USING aged
    WHERE content.id = aged.id AND content.at_ms = aged.at_ms AND newest > $2::float8
    RETURNING content.tableoid::regclass::text AS partition`,
    [over, level],
  );
  return new Set(deleted.map(({ partition }) => partition));
}

async function insert(query: Query, rows: readonly ContentRow[]): Promise<void> {
  const parameters: Parameter[] = [];
  const values = rows.map(({ id, atMs, keyId, owner, model, outcome, body }) => {
    const first = parameters.push(id, atMs, keyId, owner, model, outcome, body) - 6;
    const types = ["text", "int8", "text", "text", "text", "text", "bytea"];
    return `(${types.map((type, place) => `$${first + place}::${type}`).join(", ")})`;
  });
  await query(
    `INSERT INTO content (id, at_ms, key_id, owner, model, outcome, body) VALUES ${values.join(", ")}
    ON CONFLICT (id, at_ms) DO UPDATE SET body = excluded.body, outcome = excluded.outcome`,
    parameters,
  );
}

async function rewriteAll(
  query: Query,
  repack: (row: ContentRow) => Uint8Array,
  mark: Uint8Array | null,
  onProgress: (done: number, all: number) => void,
): Promise<void> {
  // Keeps gateways from writing with the old key meanwhile.
  await query("LOCK TABLE content IN SHARE ROW EXCLUSIVE MODE");
  const { page } = contentReads(query);
  const [found] = await query<{ rows: number }>("SELECT count(*)::float8 AS rows FROM content");
  const all = found?.rows ?? 0;
  let done = 0;
  for (let rows = await page({ limit: rowsPerRewrite }); rows.length > 0; ) {
    for (const row of rows) {
      const changed = [repack(row), row.id, row.atMs];
      await query("UPDATE content SET body = $1::bytea WHERE id = $2::text AND at_ms = $3::int8", changed);
    }
    done += rows.length;
    onProgress(done, all);
    rows = await page({ limit: rowsPerRewrite, after: rows.at(-1) });
  }
  await query("DELETE FROM content_mark");
  if (mark !== null) await query("INSERT INTO content_mark (value) VALUES ($1::bytea)", [mark]);
}
