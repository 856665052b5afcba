import { assert } from "../base/assert.ts";
import type { SessionRecords } from "./admin-records.ts";
import type { OwnStatements } from "./own-statements.ts";
import type { Queries } from "./query.ts";
import type {
  AccountChanges,
  AccountRecord,
  AccountStanding,
  CapLimit,
  CapOwner,
  Changes,
  GivenId,
  KeyChanges,
  KeyRecord,
  StoredResponse,
  Totals,
} from "./records.ts";
import type { EntryFinder } from "./reporting/exchange-search.ts";
import { StoredReports } from "./reporting/stored-reports.ts";
import type { Pruning, StorageFigures, StoreSizes } from "./storage.ts";
import type {
  AccountQuery,
  KeyPage,
  KeyQuery,
  NumberedUsage,
  OldestPruning,
  OperatorEntry,
  RecordedEntry,
  ResponseScope,
  Snapshot,
  UsageQuery,
} from "./store.ts";
import * as accounts from "./tables/account-table.ts";
import { StoredAdminRecords } from "./tables/admin-records.ts";
import { allCapTotals, capTotalsOf, extendCap, setCaps } from "./tables/cap-table.ts";
import * as entries from "./tables/entry-table.ts";
import { findGivenIds, pruneOldest } from "./tables/id-tables.ts";
import { findAccount, findKey, listAccounts, listKeys } from "./tables/key-search.ts";
import * as keys from "./tables/key-table.ts";
import { openingEntry, recordOperatorEntry } from "./tables/operator-entries.ts";
import { findStoredResponse } from "./tables/response-table.ts";
import { type RevisionRow, readRevision, revisionOf, selectRevision } from "./tables/revision.ts";
import { StoredTurns } from "./tables/turn-table.ts";
import { listUsage } from "./tables/usage-table.ts";

/** Revisions begin with 0. */
const beforeAll = -1;

/** What every database does in the same way, but for a few statements of its own. */
export abstract class QueriedStore {
  readonly reports: StoredReports;
  readonly admin: StoredAdminRecords;
  readonly turns: StoredTurns;
  readonly #queries: Queries;
  readonly #own: OwnStatements;

  constructor(queries: Queries, own: OwnStatements, entriesOf: EntryFinder, sessions: SessionRecords | null) {
    this.#queries = queries;
    this.#own = own;
    this.reports = new StoredReports(queries, entriesOf);
    this.admin = new StoredAdminRecords(queries, sessions);
    this.turns = new StoredTurns(queries);
  }

  load(): Promise<Snapshot> {
    return this.#queries.readTogether(function* () {
      return {
        revision: yield* readRevision(),
        accounts: yield* accounts.accountsChangedSince(beforeAll),
        keys: yield* keys.keysChangedSince(beforeAll),
        accountTotals: yield* entries.allAccountTotals(),
        keyTotals: yield* entries.allKeyTotals(),
        capTotals: yield* allCapTotals(),
        openHolds: yield* entries.openHolds(),
        unbalancedId: yield* entries.unbalancedId(),
      };
    });
  }

  async currentRevision(): Promise<number> {
    return revisionOf(await this.#queries.read<RevisionRow>(selectRevision));
  }

  changesSince(revision: number): Promise<Changes> {
    return this.#queries.readTogether(function* () {
      return {
        revision: yield* readRevision(),
        accounts: yield* accounts.accountsChangedSince(revision),
        keys: yield* keys.keysChangedSince(revision),
        entries: yield* entries.entriesChangedSince(revision),
      };
    });
  }

  insertAccount(account: AccountRecord, openingTopUpNano: number): Promise<void> {
    const own = this.#own;
    return this.#queries.changeTogether(function* () {
      yield* accounts.insertAccount(own, yield* own.nextNo(), account);
      if (openingTopUpNano === 0) return;
      const { id: accountId, createdAtMs } = account;
      const entry = openingEntry({ keyId: null, accountId }, openingTopUpNano, createdAtMs);
      yield* recordOperatorEntry(own, "topup", entry);
    });
  }

  updateAccount(accountId: string, changes: AccountChanges): Promise<AccountRecord> {
    return this.#queries.changeTogether(() => accounts.updateAccount(this.#own, accountId, changes));
  }

  findAccount(accountId: string): Promise<AccountRecord | null> {
    return findAccount(this.#queries.read, accountId);
  }

  listAccounts(query: AccountQuery): Promise<readonly AccountRecord[]> {
    return listAccounts(this.#queries.read, query);
  }

  readAccounts(accountIds: readonly string[]): Promise<readonly AccountStanding[]> {
    return this.#queries.readTogether(function* () {
      const standings: AccountStanding[] = [];
      for (const id of accountIds) {
        const { no } = yield* accounts.requireAccount(id);
        standings.push({
          totals: yield* entries.accountTotals(no),
          keys: yield* keys.keysOfAccount(no),
          caps: yield* capTotalsOf(no),
        });
      }
      return standings;
    });
  }

  insertKey(key: KeyRecord, openingTopUpNano: number): Promise<void> {
    const own = this.#own;
    return this.#queries.changeTogether(function* () {
      yield* keys.insertKey(own, key);
      if (openingTopUpNano === 0) return;
      const entry = openingEntry({ keyId: key.id }, openingTopUpNano, key.createdAtMs);
      yield* recordOperatorEntry(own, "topup", entry);
    });
  }

  updateKey(keyId: string, changes: KeyChanges): Promise<KeyRecord> {
    return this.#queries.changeTogether(() => keys.updateKey(this.#own, keyId, changes));
  }

  moveKey(keyId: string, accountId: string): Promise<KeyRecord> {
    return this.#queries.changeTogether(() => keys.moveKey(keyId, accountId));
  }

  setCaps(owner: CapOwner, caps: readonly CapLimit[], nowMs: number): Promise<void> {
    return this.#queries.changeTogether(() =>
      keys.changeCaps(owner, (numbered, before) => setCaps(this.#own, numbered, before, caps, nowMs)),
    );
  }

  extendCap(owner: CapOwner, capNo: number, amount: number, nowMs: number): Promise<void> {
    return this.#queries.changeTogether(() =>
      keys.changeCaps(owner, (numbered) => extendCap(numbered, capNo, amount, nowMs)),
    );
  }

  findKey(idOrPrefix: string): Promise<KeyRecord | null> {
    return findKey(this.#queries.read, idOrPrefix);
  }

  listKeys(query: KeyQuery): Promise<KeyPage> {
    return listKeys(this.#queries.read, query);
  }

  readTotals(keyId: string): Promise<Totals | null> {
    return entries.totalsOfKey(this.#queries.read, keyId);
  }

  recordTopUp(topUp: OperatorEntry): Promise<RecordedEntry> {
    return this.#queries.changeTogether(() => recordOperatorEntry(this.#own, "topup", topUp));
  }

  recordAdjustment(adjustment: OperatorEntry): Promise<RecordedEntry> {
    return this.#queries.changeTogether(() => recordOperatorEntry(this.#own, "adjustment", adjustment));
  }

  findStoredResponse(scope: ResponseScope, notBeforeMs: number): Promise<StoredResponse | null> {
    return findStoredResponse(this.#queries.read, scope, notBeforeMs);
  }

  findGivenIds(keyId: string, digests: readonly string[]): Promise<readonly (GivenId | null)[]> {
    return findGivenIds(this.#queries.read, keyId, digests);
  }

  pruneGivenIds(pruning: OldestPruning): Promise<number> {
    return pruneOldest(this.#queries.change, "given_ids", pruning);
  }

  pruneCallerIds(pruning: OldestPruning): Promise<number> {
    return pruneOldest(this.#queries.change, "caller_ids", pruning);
  }

  async recordPruning({ what, atMs, pruned }: Pruning): Promise<void> {
    await this.#queries.change(
      `INSERT INTO prunings (what, at_ms, pruned) VALUES ($1, $2::int8, $3::int8)
      ON CONFLICT (what) DO UPDATE SET at_ms = excluded.at_ms, pruned = excluded.pruned`,
      [what, atMs, pruned],
    );
  }

  async storage(): Promise<StorageFigures> {
    const { read } = this.#queries;
    const [counts] = await read<Counts>(countRecords);
    assert(counts !== undefined, "a count has a row");
    const { count: endings } = await this.reports.endingsKept();
    const prunings = await read<Pruning>(
      `SELECT what, at_ms::float8 AS "atMs", pruned::float8 AS pruned FROM prunings ORDER BY what`,
    );
    return { ...(await this.sizes()), ...counts, endings, prunings };
  }

  protected abstract sizes(): Promise<StoreSizes>;

  listUsage(query: UsageQuery): Promise<readonly NumberedUsage[]> {
    return listUsage(this.#queries.read, query);
  }
}

type Counts = Pick<StorageFigures, "accounts" | "keys" | "responses" | "responseBytes" | "auditRecords">;

const countRecords = `
SELECT (SELECT count(*) FROM accounts)::float8 AS accounts, (SELECT count(*) FROM keys WHERE id <> '')::float8 AS keys,
  (SELECT count(*) FROM turns)::float8 AS responses, (SELECT coalesce(sum(bytes), 0) FROM turn_sums)::float8 AS "responseBytes",
  (SELECT count(*) FROM audit_log)::float8 AS "auditRecords"`;
