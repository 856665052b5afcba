import type { SessionRecords } from "./admin-records.ts";
import type { Queries } from "./query.ts";
import type { AccountRecord, GivenId, KeyRecord } from "./records.ts";
import type { EntryFinder } from "./reporting/exchange-search.ts";
import { StoredReports } from "./reporting/stored-reports.ts";
import { summarizeUsage } from "./reporting/usage-summary.ts";
import type { GroupFigures } from "./reports.ts";
import type {
  AccountQuery,
  KeyPage,
  KeyQuery,
  NumberedUsage,
  OldestPruning,
  UsageQuery,
  UsageSummaryQuery,
} from "./store.ts";
import { StoredAdminRecords } from "./tables/admin-records.ts";
import { findGivenIds } from "./tables/given-id-table.ts";
import { findAccount, findKey, listAccounts, listKeys } from "./tables/key-search.ts";
import { pruneOldest } from "./tables/prune-oldest.ts";
import { StoredTurns } from "./tables/turn-table.ts";
import { listUsage } from "./tables/usage-table.ts";

/** What every database does in the same way, each time by one statement. */
export class QueriedStore {
  readonly reports: StoredReports;
  readonly admin: StoredAdminRecords;
  readonly turns: StoredTurns;
  readonly #queries: Queries;

  constructor(queries: Queries, entriesOf: EntryFinder, sessions: SessionRecords | null) {
    this.#queries = queries;
    this.reports = new StoredReports(queries, entriesOf);
    this.admin = new StoredAdminRecords(queries, sessions);
    this.turns = new StoredTurns(queries);
  }

  findAccount(accountId: string): Promise<AccountRecord | null> {
    return findAccount(this.#queries.read, accountId);
  }

  listAccounts(query: AccountQuery): Promise<readonly AccountRecord[]> {
    return listAccounts(this.#queries.read, query);
  }

  findKey(idOrPrefix: string): Promise<KeyRecord | null> {
    return findKey(this.#queries.read, idOrPrefix);
  }

  listKeys(query: KeyQuery): Promise<KeyPage> {
    return listKeys(this.#queries.read, query);
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

  listUsage(query: UsageQuery): Promise<readonly NumberedUsage[]> {
    return listUsage(this.#queries.read, query);
  }

  summarizeUsage(query: UsageSummaryQuery): Promise<readonly GroupFigures[]> {
    return summarizeUsage(this.reports, query);
  }
}
