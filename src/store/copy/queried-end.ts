import { assert } from "../../base/assert.ts";
import { type MovedStore, markMoved } from "../moved.ts";
import { query, type Work } from "../query.ts";
import type { RecomputedTotals } from "../store.ts";
import { recomputeTotals } from "../tables/recompute.ts";
import type { StoreProgress } from "./copy.ts";

/** The statements that are the same for both kinds of databases, in the transaction of the copy. */
export abstract class QueriedCopyEnd {
  abstract perform<Result>(work: Work<Result>): Promise<Result>;

  totals(): Promise<readonly RecomputedTotals[]> {
    return this.perform(recomputeTotals());
  }

  countEntries(): Promise<number> {
    return this.perform(countEntries());
  }

  progress(): Promise<StoreProgress> {
    return this.perform(readProgress());
  }

  markMoved(moved: MovedStore): Promise<void> {
    return this.perform(markMoved(moved));
  }
}

/** Whether there are holds of requests that a gateway has not ended. A line at a provider keeps its own until its result comes; it is not copied. */
export function* hasHolds(): Work<boolean> {
  return (yield* query("SELECT id FROM holds WHERE is_parked = 0 LIMIT 1")).length > 0;
}

export function* isEmpty(): Work<boolean> {
  const tables = ["accounts", "entries", "audit_log", "admin_token"];
  const none = tables.map((table) => `NOT EXISTS (SELECT 1 FROM ${table})`);
  // SQLite has a row for "no key".
  const noKey = "NOT EXISTS (SELECT 1 FROM keys WHERE id <> '')";
  return (yield* query(`SELECT 1 WHERE ${[noKey, ...none].join(" AND ")}`)).length > 0;
}

function* countEntries(): Work<number> {
  const [count] = yield* query<{ entries: number }>("SELECT count(*)::float8 AS entries FROM entries");
  return count?.entries ?? 0;
}

function* readProgress(): Work<StoreProgress> {
  const [progress] = yield* query<StoreProgress>("SELECT revision::float8 AS revision FROM state");
  assert(progress !== undefined, "the state has one row");
  return progress;
}
