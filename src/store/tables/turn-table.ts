import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { Queries } from "../query.ts";
import type {
  ChainQuery,
  ItemsQuery,
  ReserveMemory,
  StoredTurn,
  TurnBounds,
  TurnChain,
  TurnRecords,
  TurnSums,
  TurnsWithItems,
  WantedRoom,
} from "../turn-records.ts";
import { type LongBody, wholeBody } from "./long-body.ts";

type TurnRow = Omit<StoredTurn, "endBytes" | "recording"> & LongBody;

/** Facts about a turn before it is read. */
type ReadTurn = Pick<TurnLink, "no" | "bytes">;

interface FoundTurn extends ReadTurn {
  readonly expiredItem: string | null;
}

interface TurnLink {
  readonly no: number;
  readonly parentId: string | null;
  readonly bytes: number;
}

/** Takes a few milliseconds where the database is read on the event loop. */
const maxReadBytes = 2 * 1024 * 1024;
/** Takes about 2 ms on SQLite. */
const idsPerLookup = 1000;
const maxPrunedBytes = 8 * 1024 * 1024;
/** While they are deleted, nothing else is written to SQLite. */
const deletedAtOnce = 200;

export class StoredTurns implements TurnRecords {
  readonly #queries: Queries;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  async chain(query: ChainQuery): Promise<TurnChain> {
    const { keyId, id, nowMs, maxTurns, maxBytes, reserve } = query;
    const look = () => this.#queries.read<TurnLink>(findLinks, [keyId, id, nowMs, maxTurns]);
    const links = await look();
    const problem = chainProblem(links, query);
    if (problem !== null) return { kind: problem };
    const turns = await this.#whole(links, look, (bytes) => reserve(Math.min(bytes, maxBytes)));
    if (turns === null) return { kind: "missing" };
    const byId = new Map(turns.map((turn) => [turn.id, turn]));
    const chain: StoredTurn[] = [];
    for (let turn = byId.get(id); turn !== undefined; turn = byId.get(turn.parentId ?? "")) chain.push(turn);
    return { kind: "found", turns: chain.reverse() };
  }

  async find(keyId: string, id: string, nowMs: number, reserve?: ReserveMemory): Promise<StoredTurn | null> {
    const look = () => this.#queries.read<TurnLink>(findLinks, [keyId, id, nowMs, 0]);
    const turns = await this.#whole(await look(), look, async (bytes) => reserve?.(bytes));
    return turns?.[0] ?? null;
  }

  async end(keyId: string, id: string, nowMs: number): Promise<StoredTurn | null> {
    const [row] = await this.#queries.read<TurnRow>(readEnd, [keyId, id, nowMs]);
    return row === undefined ? null : storedTurn(row, row.body);
  }

  async has(no: number): Promise<boolean> {
    return (await this.#queries.read("SELECT no FROM turns WHERE no = $1::int8", [no])).length > 0;
  }

  async hasAll(keyId: string, ids: readonly string[], nowMs: number): Promise<boolean> {
    return (await this.#queries.read(findAll, [keyId, ids, nowMs])).length === ids.length;
  }

  async withItems(query: ItemsQuery): Promise<TurnsWithItems> {
    const { keyId, items, turnIds, nowMs, maxTurns, maxBytes } = query;
    const found = new Map<number, ReadTurn>();
    for (const [statement, ids] of [...lookups(findWithItems, items), ...lookups(findByIds, turnIds)]) {
      for (const link of await this.#withoutExpired(statement, keyId, ids, nowMs)) found.set(link.no, link);
      if (found.size > maxTurns) return { kind: "too_many" };
    }
    const links = [...found.values()];
    if (areTooLarge(links, query)) return { kind: "too_large" };
    await query.reserve(Math.min(sizeOf(links), maxBytes));
    return { kind: "found", turns: await this.#all(links) };
  }

  /** If the retention was shortened, an older turn may outlive the newest that has an item. */
  async #withoutExpired(
    statement: string,
    keyId: string,
    ids: readonly string[],
    nowMs: number,
  ): Promise<readonly ReadTurn[]> {
    const { read } = this.#queries;
    const newest = await read<FoundTurn>(statement, [keyId, ids, nowMs]);
    const found: ReadTurn[] = newest.filter(({ expiredItem }) => expiredItem === null);
    for (const { expiredItem } of newest) {
      if (expiredItem === null) continue;
      await bodyPacer.wait();
      found.push(...(await read<ReadTurn>(findOlderWithItem, [keyId, expiredItem, nowMs])));
    }
    return found;
  }

  async makeRoom({ keyId, bytes, keyBytes, replaces = 0 }: WantedRoom): Promise<void> {
    const { read, change } = this.#queries;
    for (;;) {
      await bodyPacer.wait();
      const [stored] = await read<{ bytes: number }>(sumOthers, [keyId, replaces]);
      const missing = (stored?.bytes ?? 0) + bytes - keyBytes;
      if (missing <= 0 || (await change(deleteOldest, [keyId, replaces, missing])).length === 0) return;
    }
  }

  async delete(keyId: string, id: string, nowMs: number): Promise<boolean> {
    const statement = deletion("id = $2::text AND expires_at_ms > $3::int8");
    do {
      if ((await this.#queries.change(statement, [keyId, id, nowMs])).length > 0) return true;
    } while (await this.hasAll(keyId, [id], nowMs));
    return false;
  }

  async deleteAll(keyId: string): Promise<number> {
    const { read, change } = this.#queries;
    const some = deletion(`no IN (SELECT no FROM turns WHERE key_no = ${keyNo} LIMIT ${deletedAtOnce})`);
    let count = 0;
    do count += (await change(some, [keyId])).length;
    while ((await read(`SELECT no FROM turns WHERE key_no = ${keyNo} LIMIT 1`, [keyId])).length > 0);
    return count;
  }

  async sums(keyId: string, nowMs: number): Promise<TurnSums> {
    const [row] = await this.#queries.read<TurnSums>(sumTurns, [keyId, nowMs]);
    return row ?? { count: 0, conversations: 0, bytes: 0, oldestAtMs: null, newestAtMs: null };
  }

  async sealingSecret(candidate: Uint8Array): Promise<Uint8Array> {
    const { read, change } = this.#queries;
    const find = () => read<{ secret: Uint8Array }>("SELECT secret FROM sealing_secret");
    const [known] = await find();
    if (known !== undefined) return known.secret;
    await change("INSERT INTO sealing_secret (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", [
      candidate,
    ]);
    return (await find())[0]?.secret ?? candidate;
  }

  async prune(nowMs: number, limit: number): Promise<number> {
    await bodyPacer.wait();
    return (await this.#queries.change(deleteOld, [nowMs, limit, maxPrunedBytes])).length;
  }

  /**
   * All of these; null if one of them lacks a part, or is gone. Other requests may replace a conversation repeatedly
   * between reading its size and its content: while it is found under another number, it is read again.
   */
  async #whole(
    links: readonly TurnLink[],
    look: () => Promise<readonly TurnLink[]>,
    reserve: ReserveMemory,
  ): Promise<readonly StoredTurn[] | null> {
    let found = links;
    for (let reserved = 0; found.length > 0; ) {
      const bytes = sizeOf(found);
      await reserve(Math.max(0, bytes - reserved));
      reserved = Math.max(bytes, reserved);
      const turns = await this.#all(found);
      if (turns.length === found.length) return turns;
      const next = await look();
      if (next.length !== found.length || next.every(({ no }, place) => no === found[place]?.no)) return null;
      found = next;
    }
    return null;
  }

  /** Oldest first, a few at a time, without those that lack a part. */
  async #all(links: readonly ReadTurn[]): Promise<readonly StoredTurn[]> {
    const { read } = this.#queries;
    const turns: StoredTurn[] = [];
    for (const numbers of inReads(links.toSorted((one, other) => one.no - other.no))) {
      await bodyPacer.wait();
      for (const row of await read<TurnRow>(readTurns, [numbers])) {
        const body = await wholeBody(read, row);
        if (body !== null) turns.push(storedTurn(row, body));
      }
    }
    return turns;
  }
}

function storedTurn({ recordingId, parts, ...row }: TurnRow, body: Uint8Array): StoredTurn {
  const recording = recordingId === null ? null : { id: recordingId, parts };
  return { ...row, body, endBytes: row.body.length, recording };
}

/** Why a chain, newest first, cannot be used; null if it can. */
function chainProblem(
  links: readonly TurnLink[],
  bounds: ChainQuery,
): Exclude<TurnChain["kind"], "found"> | null {
  if (links.length > bounds.maxTurns) return "too_long";
  const last = links.at(-1);
  if (last === undefined || last.parentId !== null) return "missing";
  return areTooLarge(links, bounds) ? "too_large" : null;
}

function areTooLarge(links: readonly ReadTurn[], { maxBytes, headBytes }: TurnBounds): boolean {
  return sizeOf(links) > maxBytes + Math.min(links.length * headBytes, maxBytes);
}

/** A statement with some of the ids that it looks for, each time. */
function lookups(
  statement: string,
  ids: readonly string[],
): readonly (readonly [string, readonly string[]])[] {
  const starts = Array.from({ length: Math.ceil(ids.length / idsPerLookup) }, (_, at) => at * idsPerLookup);
  return starts.map((start) => [statement, ids.slice(start, start + idsPerLookup)]);
}

function sizeOf(links: readonly ReadTurn[]): number {
  return links.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The numbers of the turns that are read at once. */
function inReads(links: readonly ReadTurn[]): readonly (readonly number[])[] {
  const reads: number[][] = [[]];
  let bytes = 0;
  for (const link of links) {
    bytes += link.bytes;
    if (bytes > maxReadBytes) {
      reads.push([]);
      bytes = link.bytes;
    }
    reads.at(-1)?.push(link.no);
  }
  return reads;
}

const keyNo = "(SELECT no FROM keys WHERE keys.id = $1::text)";

/** One more than the limit, so that a longer chain is recognized. */
const findLinks = `
WITH RECURSIVE chain (no, key_no, parent_id, bytes, depth) AS (
  SELECT no, key_no, parent_id, bytes, 0 FROM turns WHERE key_no = ${keyNo} AND id = $2::text AND expires_at_ms > $3::int8
  UNION ALL
  SELECT t.no, t.key_no, t.parent_id, t.bytes, depth + 1
  FROM chain JOIN turns t ON t.key_no = chain.key_no AND t.id = chain.parent_id AND t.expires_at_ms > $3::int8
  WHERE depth < $4::int8
)
SELECT no::float8 AS no, parent_id AS "parentId", bytes::float8 AS bytes FROM chain ORDER BY depth`;

const findAll = `SELECT no FROM turns WHERE key_no = ${keyNo} AND id = ANY ($2::text[]) AND expires_at_ms > $3::int8`;

const turnColumns = `no::float8 AS no, id, parent_id AS "parentId", bytes::float8 AS bytes, recording_id AS "recordingId", parts, body, request`;

const readTurns = `SELECT ${turnColumns} FROM turns WHERE no = ANY ($1::int8[]) ORDER BY no`;

const readEnd = `SELECT ${turnColumns} FROM turns WHERE key_no = ${keyNo} AND id = $2::text AND expires_at_ms > $3::int8`;

/**
 * The newest turn of each item, by one index lookup, even if many turns have it. `expiredItem` is null if the turn is
 * not expired.
 */
const findWithItems = `
SELECT turns.no::float8 AS no, turns.bytes::float8 AS bytes,
  CASE WHEN turns.expires_at_ms > $3::int8 THEN NULL ELSE wanted.value END AS "expiredItem"
FROM unnest($2::text[]) AS wanted (value) JOIN turns ON turns.no =
  (SELECT max(i.turn_no) FROM turn_items i WHERE i.key_no = ${keyNo} AND i.id_key = wanted.value)`;

/** Reads all turns that have the item and have expired, in the worst case: 0.4 µs each on SQLite. */
const findOlderWithItem = `
SELECT t.no::float8 AS no, t.bytes::float8 AS bytes, NULL AS "expiredItem"
FROM turn_items i JOIN turns t ON t.no = i.turn_no
WHERE i.key_no = ${keyNo} AND i.id_key = $2::text AND t.expires_at_ms > $3::int8 ORDER BY i.turn_no DESC LIMIT 1`;

const findByIds = `
SELECT no::float8 AS no, bytes::float8 AS bytes, NULL AS "expiredItem" FROM turns
WHERE key_no = ${keyNo} AND id = ANY ($2::text[]) AND expires_at_ms > $3::int8`;

/**
 * The sums are locked before any turn of the key, as an insert does. Otherwise the two could deadlock. What has replaced a
 * conversation while PostgreSQL waited for the lock is only seen by the next statement.
 */
function deletion(which: string): string {
  return `WITH locked AS (SELECT key_no FROM turn_sums WHERE key_no = ${keyNo} FOR UPDATE)
  DELETE FROM turns WHERE key_no IN (SELECT key_no FROM locked) AND ${which} RETURNING no`;
}

const sumOthers = `
SELECT (bytes - coalesce((SELECT bytes FROM turns WHERE no = $2::int8), 0))::float8 AS bytes
FROM turn_sums WHERE key_no = ${keyNo}`;

/** The oldest of a key, as many as have the wanted bytes. */
const deleteOldest = deletion(`no IN (
  SELECT no FROM (SELECT no, sum(bytes) OVER (ORDER BY no) - bytes AS earlier FROM (
    SELECT no, bytes FROM turns WHERE key_no = ${keyNo} AND no <> $2::int8 ORDER BY no LIMIT ${deletedAtOnce}) AS oldest) AS summed
  WHERE earlier < $3::int8)`);

const sumTurns = `
SELECT count(*)::float8 AS count, count(CASE WHEN substr(id, 1, 5) = 'conv_' THEN 1 END)::float8 AS conversations, coalesce(sum(bytes), 0)::float8 AS bytes, min(created_at_ms)::float8 AS "oldestAtMs",
  max(created_at_ms)::float8 AS "newestAtMs"
FROM turns WHERE key_no = ${keyNo} AND expires_at_ms > $2::int8`;

/** No more than can be deleted quickly: a few of the long ones. */
const deleteOld = `
WITH due AS (
  SELECT no, key_no, bytes FROM turns WHERE expires_at_ms <= $1::int8
  UNION ALL SELECT t.no, t.key_no, t.bytes FROM keys k JOIN turns t ON t.key_no = k.no WHERE k.status = 'revoked'
  LIMIT $2::int8
), old AS (
  SELECT no, key_no FROM (SELECT no, key_no, sum(bytes) OVER (ORDER BY no) - bytes AS earlier FROM due) AS summed
  WHERE earlier < $3::int8
), locked AS (
  SELECT key_no FROM turn_sums WHERE key_no IN (SELECT key_no FROM old) ORDER BY key_no FOR UPDATE SKIP LOCKED
)
DELETE FROM turns WHERE no IN (SELECT old.no FROM old JOIN locked ON locked.key_no = old.key_no) RETURNING no`;
