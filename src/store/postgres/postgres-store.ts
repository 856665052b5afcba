import type { Clock } from "../../base/clock.ts";
import { QueriedStore } from "../queried-store.ts";
import type {
  AttemptSums,
  CallerId,
  Entry,
  ExchangeEnding,
  GivenIds,
  ResponsePart,
  TurnRecord,
} from "../records.ts";
import {
  type AuditedEntry,
  type EndingsPruning,
  type EntryQuery,
  type LedgerFault,
  type NodeRecords,
  type RecomputedTotals,
  type Store,
  StoreRefusal,
  type StoreSizes,
} from "../store.ts";
import { listAuditedEntries, listEntries } from "../tables/entry-list.ts";
import type { PostgresClient } from "./client.ts";
import { Database } from "./database.ts";
import type { Maintenance } from "./maintenance.ts";
import { listNodes } from "./node/list-nodes.ts";
import { postgresStatements } from "./own-statements.ts";
import { rollUp } from "./rollup.ts";
import { settledThrough } from "./settled-ids.ts";
import { PostgresAlertRecords } from "./tables/alert-records.ts";
import { auditSums } from "./tables/audit.ts";
import { insertEndings, pruneEndings } from "./tables/ending-table.ts";
import { entriesOfExchange } from "./tables/exchange-entries.ts";
import { insertCallerIds, insertGivenIds } from "./tables/id-tables.ts";
import { recomputeTotals } from "./tables/recompute.ts";
import * as responses from "./tables/response-table.ts";
import { PostgresSessions } from "./tables/sessions.ts";
import { WriteQueue } from "./write-queue.ts";

export interface PostgresStoreParts {
  readonly client: PostgresClient;
  readonly clock: Clock;
  /** Null for operators. */
  readonly maintenance: Maintenance | null;
}

const timeoutMs = 2_000;
const settleTimeoutMs = 10_000;
/** A pass over the whole ledger. */
const auditDeadlineMs = 1_800_000;

export class PostgresStore extends QueriedStore implements Store {
  readonly alerts: PostgresAlertRecords;
  readonly files = null;
  readonly nodes: NodeRecords = { list: () => listNodes(this.#database.read) };
  readonly #parts: PostgresStoreParts;
  readonly #database: Database;
  readonly #given: WriteQueue<GivenIds>;
  readonly #unwritten = new Set<Promise<void>>();
  #settledThrough = 0;

  constructor(parts: PostgresStoreParts) {
    const database = new Database(parts.client, timeoutMs);
    const entriesOf = (id: string) => entriesOfExchange(database.read, id);
    super(database, postgresStatements, entriesOf, new PostgresSessions(database));
    this.#parts = parts;
    this.#database = database;
    this.#given = new WriteQueue((items) => insertGivenIds(this.#database.changeSurely, items));
    this.alerts = new PostgresAlertRecords(this.#database);
  }

  pruneStoredResponses(beforeMs: number, limit: number): Promise<number> {
    return responses.pruneStoredResponses(this.#database.change, beforeMs, limit);
  }

  recordResponsePart(part: ResponsePart): Promise<void> {
    const nowMs = this.#parts.clock.wallMs();
    return this.#track(responses.insertResponsePart(this.#database.changeSurely, part, nowMs));
  }

  async recordTurn(turn: TurnRecord): Promise<void> {
    await this.written();
    await responses.insertTurn(this.#database.changeSurely, turn);
  }

  discardResponse(recordingId: string): Promise<void> {
    return responses.discardResponse(this.#database.change, recordingId);
  }

  recordGivenIds(given: GivenIds): Promise<void> {
    return this.#track(this.#given.add(given));
  }

  written(): Promise<void> | null {
    if (this.#unwritten.size === 0) return null;
    return Promise.allSettled(this.#unwritten).then(() => {});
  }

  recordCallerIds(callerIds: readonly CallerId[]): Promise<void> {
    return insertCallerIds(this.#database.change, callerIds);
  }

  recordEndings(endings: readonly ExchangeEnding[], attempts: readonly AttemptSums[] = []): Promise<void> {
    return insertEndings(this.#database.change, endings, attempts);
  }

  /** Only what is in the sums can be deleted, so that they are brought up to date first. */
  async pruneEndings(pruning: EndingsPruning): Promise<void> {
    await rollUp(this.#parts.client);
    await pruneEndings(this.#database.change, pruning);
  }

  protected async sizes(): Promise<StoreSizes> {
    const [row] = await this.#database.read<Pick<StoreSizes, "databaseBytes" | "entries">>(
      `SELECT pg_database_size(current_database())::float8 AS "databaseBytes",
        (SELECT entries_through FROM rollups)::float8 AS entries`,
    );
    return { databaseBytes: 0, entries: 0, ...row, journalBytes: null, diskFreeBytes: null };
  }

  /** Entries that are still being written among others are not passed over: what comes after them waits for them. */
  listEntries(query: EntryQuery): Promise<readonly Entry[]> {
    return this.#whole(query.limit, (throughId) => listEntries(this.#database.read, query, throughId));
  }

  listAuditedEntries(query: Pick<EntryQuery, "afterId" | "limit">): Promise<readonly AuditedEntry[]> {
    const { read } = this.#database;
    return this.#whole(query.limit, (throughId) => listAuditedEntries(read, query, throughId));
  }

  auditSums(nowMs: number): Promise<readonly LedgerFault[]> {
    return this.#database.readTogether(() => auditSums(nowMs), auditDeadlineMs);
  }

  /** Reads through the last entry that is settled for certain; asks which one that is only if it has to. */
  async #whole<Row>(
    limit: number,
    read: (throughId: number) => Promise<readonly Row[]>,
  ): Promise<readonly Row[]> {
    const known = await read(this.#settledThrough);
    if (known.length >= limit) return known;
    const settled = await settledThrough(this.#database.read, "entries", settleTimeoutMs);
    if (settled === null) {
      throw new StoreRefusal("locked", "The ledger's newest entries are still being written. Try again.");
    }
    this.#settledThrough = settled;
    return read(settled);
  }

  recomputeTotals(): Promise<readonly RecomputedTotals[]> {
    return this.#database.readAll(recomputeTotals, auditDeadlineMs);
  }

  async close(): Promise<void> {
    await this.written();
    await this.#parts.maintenance?.stop();
    await this.#parts.client.close();
  }

  #track(writing: Promise<void>): Promise<void> {
    this.#unwritten.add(writing);
    const forget = () => this.#unwritten.delete(writing);
    writing.then(forget, forget);
    return writing;
  }
}
