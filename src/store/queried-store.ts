import { assert } from "../base/assert.ts";
import type { OwnStatements } from "./own-statements.ts";
import type { Queries } from "./query.ts";
import type { EntryFinder } from "./reporting/exchange-search.ts";
import { type ReportQueries, storedReports } from "./reporting/stored-reports.ts";
import type { Pruning, StorageStats, StoreSizes } from "./storage.ts";
import type { PastPeriod, Store } from "./store.ts";
import { readStandings } from "./tables/account-standings.ts";
import * as accounts from "./tables/account-table.ts";
import { allCapTotals, extendCap, setCaps } from "./tables/cap-table.ts";
import { isAnyAhead, presentMs, returnToPresent } from "./tables/clock-return.ts";
import * as entries from "./tables/entry-table.ts";
import { findIssuedIds } from "./tables/id-tables.ts";
import { keySearch } from "./tables/key-search.ts";
import * as keys from "./tables/key-table.ts";
import { openingEntry, recordOperatorEntry } from "./tables/operator-entries.ts";
import { parkedHolds } from "./tables/provider-batch-table.ts";
import { pruneEndings, pruneOldest } from "./tables/prune-oldest.ts";
import { findStoredResponse, retryBytes } from "./tables/response-table.ts";
import { type RevisionRow, readRevision, revisionOf, selectRevision } from "./tables/revision.ts";
import { signInsChangedSince } from "./tables/sign-in-table.ts";
import { StoredTurns } from "./tables/turn-table.ts";
import * as capReads from "./tables/value-cap-reads.ts";
import * as values from "./tables/value-cap-table.ts";

/** Revisions begin with 0. */
const beforeAll = -1;

/** The part of a store that is the same for every database, built on a few statements of each. */
export function queriedStore(
  queries: Queries,
  reading: ReportQueries,
  own: OwnStatements,
  entriesOf: EntryFinder,
  sizes: () => Promise<StoreSizes>,
) {
  const { read, change, readTogether, changeTogether } = queries;
  const reports = storedReports(reading, entriesOf);
  return {
    reports,
    turns: new StoredTurns(queries),
    ...keySearch(read, reading.read),

    load: () =>
      readTogether(function* () {
        return {
          revision: yield* readRevision(),
          accounts: yield* accounts.accountsChangedSince(beforeAll),
          keys: yield* keys.keysChangedSince(beforeAll),
          signIns: yield* signInsChangedSince(beforeAll),
          accountTotals: yield* entries.allAccountTotals(),
          keyTotals: yield* entries.allKeyTotals(),
          capTotals: yield* allCapTotals(),
          valueCaps: yield* values.allValueCaps(),
          valueTotals: yield* values.allValueTotals(),
          openHolds: yield* entries.openHolds(),
          parkedHolds: yield* parkedHolds(),
          unbalancedId: yield* entries.unbalancedId(),
        };
      }),

    currentRevision: async () => revisionOf(await read<RevisionRow>(selectRevision)),

    changesSince: (revision) =>
      readTogether(function* () {
        return {
          revision: yield* readRevision(),
          accounts: yield* accounts.accountsChangedSince(revision),
          keys: yield* keys.keysChangedSince(revision),
          signIns: yield* signInsChangedSince(revision),
          valueCaps: yield* values.valueCapState(),
          entries: yield* entries.entriesChangedSince(revision),
        };
      }),

    insertAccount: (account, openingTopUpNano) =>
      changeTogether(function* () {
        yield* accounts.insertAccount(own, yield* own.nextNo(), account);
        if (openingTopUpNano === 0) return;
        const { id: accountId, createdAtMs } = account;
        const entry = openingEntry({ keyId: null, accountId }, openingTopUpNano, createdAtMs);
        yield* recordOperatorEntry(own, "topup", entry);
      }),

    updateAccount: (accountId, changes) =>
      changeTogether(() => accounts.updateAccount(own, accountId, changes)),

    readAccounts: (accountIds, maxKeys = Number.MAX_SAFE_INTEGER) =>
      readTogether(() => readStandings(accountIds, maxKeys)),

    accountKeys: (accountId, after, limit) =>
      readTogether(function* () {
        const { no } = yield* accounts.requireAccount(accountId);
        return yield* keys.keyPageOfAccount(no, after, limit);
      }),

    insertKey: (key, openingTopUpNano, sinceRevision) =>
      changeTogether(function* () {
        yield* keys.insertKey(own, key, sinceRevision);
        if (openingTopUpNano === 0) return;
        const entry = openingEntry({ keyId: key.id }, openingTopUpNano, key.createdAtMs);
        yield* recordOperatorEntry(own, "topup", entry);
      }),

    isAhead: (nowMs) =>
      readTogether(function* () {
        return yield* isAnyAhead(yield* presentMs(own, nowMs));
      }),
    returnToPresent: (nowMs) =>
      changeTogether(function* () {
        return yield* returnToPresent(own, yield* presentMs(own, nowMs));
      }),
    listPastPeriods: () => read<PastPeriod>(accounts.selectPastPeriods),

    updateKey: (keyId, changes) => changeTogether(() => keys.updateKey(own, keyId, changes)),
    moveKey: (keyId, accountId, nowMs) =>
      changeTogether(function* () {
        return yield* keys.moveKey(keyId, accountId, yield* presentMs(own, nowMs));
      }),

    setCaps: (owner, caps, nowMs) =>
      changeTogether(() =>
        keys.changeCaps(owner, function* (numbered, before) {
          yield* setCaps(own, numbered, before, caps, yield* presentMs(own, nowMs));
        }),
      ),

    extendCap: (owner, capNo, amount, nowMs) =>
      changeTogether(() =>
        keys.changeCaps(owner, function* (numbered) {
          yield* extendCap(numbered, capNo, amount, yield* presentMs(own, nowMs));
        }),
      ),

    valueCaps: () => readTogether(() => values.allValueCaps()),
    valueTotals: (capNo) => readTogether(() => values.valueTotalsOf(capNo)),
    bindingCaps: (candidates) => readTogether(() => capReads.bindingCaps(candidates)),
    totalsOfValues: (capNos, texts) => readTogether(() => capReads.totalsOfValues(capNos, texts)),
    countedValues: (nowMs) => readTogether(() => capReads.countedValues(nowMs)),
    ownedCaps: () => readTogether(() => capReads.ownedCaps()),
    insertValueCap: (cap, nowMs, sinceRevision) =>
      changeTogether(function* () {
        return yield* values.insertValueCap(own, cap, yield* presentMs(own, nowMs), sinceRevision);
      }),
    updateValueCap: (id, changes, nowMs, sinceRevision) =>
      changeTogether(function* () {
        return yield* values.updateValueCap(own, id, changes, yield* presentMs(own, nowMs), sinceRevision);
      }),
    raiseValueCap: (id, amount, value, nowMs) =>
      changeTogether(function* () {
        yield* values.raiseValueCap(own, id, amount, value, yield* presentMs(own, nowMs));
      }),
    removeValueCap: (id) => changeTogether(() => values.removeValueCap(own, id)),
    pruneCapValues: (nowMs, limit) =>
      changeTogether(function* () {
        return yield* values.pruneCapValues(own, yield* presentMs(own, nowMs), limit);
      }),

    readTotals: (keyId) => entries.totalsOfKey(read, keyId),
    recordTopUp: (topUp) => changeTogether(() => recordOperatorEntry(own, "topup", topUp)),
    recordAdjustment: (adjustment) =>
      changeTogether(() => recordOperatorEntry(own, "adjustment", adjustment)),

    lastRequestOfSession: (keyId, session, sinceMs) =>
      entries.lastRequestOfSession(read, keyId, session, sinceMs),
    retryBytes: (keyId) => retryBytes(read, keyId),
    findStoredResponse: (scope, notBeforeMs, reserve) =>
      findStoredResponse(read, scope, notBeforeMs, reserve),
    findIssuedIds: (keyId, idKeys) => findIssuedIds(read, keyId, idKeys),
    pruneIssuedIds: (pruning) => pruneOldest(change, "issued_ids", pruning),
    pruneCallerIds: (pruning) => pruneOldest(change, "caller_ids", pruning),
    pruneRequestLog: (pruning) => changeTogether(() => pruneEndings(own, pruning)),

    async recordPruning({ what, atMs, pruned }) {
      await change(
        `INSERT INTO prunings (what, at_ms, pruned) VALUES ($1, $2::int8, $3::int8)
        ON CONFLICT (what) DO UPDATE SET at_ms = excluded.at_ms, pruned = excluded.pruned`,
        [what, atMs, pruned],
      );
    },

    async storage() {
      const [counts] = await reading.read<Counts>(countRecords);
      assert(counts !== undefined, "a count has a row");
      const { count: loggedRequests } = await reports.requestLogSize();
      const prunings = await read<Pruning>(
        `SELECT what, at_ms::float8 AS "atMs", pruned::float8 AS pruned FROM prunings ORDER BY what`,
      );
      return { ...(await sizes()), ...counts, loggedRequests, prunings };
    },
  } satisfies Partial<Store>;
}

type Counts = Omit<StorageStats, keyof StoreSizes | "loggedRequests" | "prunings">;

const countRecords = `
SELECT (SELECT count(*) FROM accounts)::float8 AS accounts, (SELECT count(*) FROM keys WHERE id <> '')::float8 AS keys,
  (SELECT count(*) FROM turns)::float8 AS responses, (SELECT coalesce(sum(bytes), 0) FROM turn_sums)::float8 AS "responseBytes",
  (SELECT count(*) FROM responses AS stored WHERE stored_at_ms IS NOT NULL AND route NOT LIKE 'batch:%')::float8 AS "retryResponses",
  (SELECT coalesce(sum(bytes), 0) FROM response_sums)::float8 AS "retryResponseBytes",
  (SELECT count(*) FROM batches)::float8 AS batches,
  (SELECT count(*) FROM files WHERE kind NOT IN ('uploading', 'requests'))::float8 AS files,
  ((SELECT coalesce(sum(bytes), 0) FROM files WHERE batch_id IS NULL) + (SELECT coalesce(sum(output_bytes + error_bytes), 0) FROM batches))::float8
    AS "fileBytes",
  (SELECT count(*) FROM audit_log)::float8 AS "auditRecords"`;
