import type { Clock } from "../../base/clock.ts";
import { openingBalance, openingCredit } from "../operator-entry.ts";
import { QueriedStore } from "../queried-store.ts";
import type {
  AccountChanges,
  AccountRecord,
  AttemptSums,
  CallerId,
  CapLimit,
  Changes,
  Entry,
  ExchangeEnding,
  GivenIds,
  KeyChanges,
  KeyRecord,
  ResponsePart,
  StoredResponse,
  Totals,
} from "../records.ts";
import {
  type AccountStanding,
  type AuditedEntry,
  type CapOwner,
  type EndingsPruning,
  type EntryQuery,
  type LedgerFault,
  type NodeRecords,
  type OperatorEntry,
  type RecomputedTotals,
  type RecordedEntry,
  type ResponseScope,
  type Snapshot,
  type Store,
  StoreRefusal,
} from "../store.ts";
import { listAuditedEntries, listEntries } from "../tables/entry-list.ts";
import type { PostgresClient } from "./client.ts";
import { Database } from "./database.ts";
import type { Maintenance } from "./maintenance.ts";
import { listNodes } from "./node/list-nodes.ts";
import { rollUp } from "./rollup.ts";
import { settledThrough } from "./settled-ids.ts";
import * as accounts from "./tables/account-table.ts";
import { PostgresAlertRecords } from "./tables/alert-records.ts";
import { auditSums } from "./tables/audit.ts";
import { insertCallerIds } from "./tables/caller-id-table.ts";
import { allCapTotals, capTotalsOf, extendCap, setCaps } from "./tables/cap-table.ts";
import { insertEndings, pruneEndings } from "./tables/ending-table.ts";
import * as entries from "./tables/entry-table.ts";
import { insertGivenIds } from "./tables/given-id-table.ts";
import * as keys from "./tables/key-table.ts";
import { recordOperatorEntry } from "./tables/operator-entries.ts";
import { recomputeTotals } from "./tables/recompute.ts";
import * as responses from "./tables/response-table.ts";
import { readRevision } from "./tables/revision.ts";
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
    super(database, (id) => entries.entriesOfExchange(database.read, id), new PostgresSessions(database));
    this.#parts = parts;
    this.#database = database;
    this.#given = new WriteQueue((items) => insertGivenIds(this.#database.changeSurely, items));
    this.alerts = new PostgresAlertRecords(this.#database);
  }

  load(): Promise<Snapshot> {
    return this.#database.readAll(async (query) => {
      return {
        revision: await readRevision(query),
        accounts: await accounts.allAccounts(query),
        keys: await keys.allKeys(query),
        accountTotals: await entries.allAccountTotals(query),
        keyTotals: await entries.allKeyTotals(query),
        capTotals: await allCapTotals(query),
        openHolds: await entries.openHolds(query),
        unbalancedId: await entries.unbalancedId(query),
      };
    });
  }

  insertAccount(account: AccountRecord, openingTopUpNano: number): Promise<void> {
    return this.#database.changeAll(async (query) => {
      await accounts.insertAccount(query, account);
      if (openingTopUpNano === 0) return;
      await recordOperatorEntry(query, "topup", openingBalance(account, openingTopUpNano));
    });
  }

  updateAccount(accountId: string, changes: AccountChanges): Promise<AccountRecord> {
    return this.#database.changeAll((query) => accounts.updateAccount(query, accountId, changes));
  }

  readAccounts(accountIds: readonly string[]): Promise<readonly AccountStanding[]> {
    return this.#database.readAll(async (query) => {
      const standings: AccountStanding[] = [];
      for (const id of accountIds) {
        const { no } = await accounts.requireAccount(query, id);
        const { held, ...totals } = await entries.accountTotals(query, no, { lock: false });
        const found = await keys.keysOfAccounts(query, [no]);
        standings.push({
          totals,
          held,
          keys: found.map(({ key }) => key),
          caps: await capTotalsOf(query, [no]),
        });
      }
      return standings;
    });
  }

  moveKey(keyId: string, accountId: string): Promise<KeyRecord> {
    return this.#database.changeAll((query) => keys.moveKey(query, keyId, accountId));
  }

  setCaps(owner: CapOwner, caps: readonly CapLimit[], nowMs: number): Promise<void> {
    return this.#database.changeAll((query) =>
      keys.changeCaps(query, owner, (numbered, before) => setCaps(query, numbered, before, caps, nowMs)),
    );
  }

  extendCap(owner: CapOwner, capNo: number, amount: number, nowMs: number): Promise<void> {
    return this.#database.changeAll((query) =>
      keys.changeCaps(query, owner, (numbered) => extendCap(query, numbered, capNo, amount, nowMs)),
    );
  }

  insertKey(key: KeyRecord, openingTopUpNano: number): Promise<void> {
    return this.#database.changeAll(async (query) => {
      await keys.insertKey(query, key);
      if (openingTopUpNano === 0) return;
      await recordOperatorEntry(query, "topup", openingCredit(key, openingTopUpNano));
    });
  }

  updateKey(keyId: string, changes: KeyChanges): Promise<KeyRecord> {
    return this.#database.changeAll((query) => keys.updateKey(query, keyId, changes));
  }

  findKeyByHash(hash: string, nowMs: number): Promise<KeyRecord | null> {
    return keys.keyByHash(this.#database.read, hash, nowMs);
  }

  recordTopUp(topUp: OperatorEntry): Promise<RecordedEntry> {
    return this.#database.changeAll((query) => recordOperatorEntry(query, "topup", topUp));
  }

  recordAdjustment(adjustment: OperatorEntry): Promise<RecordedEntry> {
    return this.#database.changeAll((query) => recordOperatorEntry(query, "adjustment", adjustment));
  }

  currentRevision(): Promise<number> {
    return readRevision(this.#database.read);
  }

  changesSince(revision: number): Promise<Changes> {
    return this.#database.readAll(async (query) => {
      return {
        revision: await readRevision(query),
        accounts: await accounts.accountsChangedSince(query, revision),
        keys: await keys.keysChangedSince(query, revision),
        entries: await entries.entriesChangedSince(query, revision),
      };
    });
  }

  findStoredResponse(scope: ResponseScope, notBeforeMs: number): Promise<StoredResponse | null> {
    return responses.findStoredResponse(this.#database.read, scope, notBeforeMs);
  }

  pruneStoredResponses(beforeMs: number, limit: number): Promise<number> {
    return responses.pruneStoredResponses(this.#database.change, beforeMs, limit);
  }

  recordResponsePart(part: ResponsePart): Promise<void> {
    const nowMs = this.#parts.clock.wallMs();
    return this.#track(responses.insertResponsePart(this.#database.changeSurely, part, nowMs));
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

  readTotals(keyId: string): Promise<Totals | null> {
    return entries.totalsOfKey(this.#database.read, keyId);
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
    return this.#database.readAll((query) => auditSums(query, nowMs), auditDeadlineMs);
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
