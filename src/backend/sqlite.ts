import { randomInt } from "node:crypto";
import { type Clock, msPerDay, SteadyClock } from "../base/clock.ts";
import { Repeating } from "../base/loop/repeating.ts";
import { Idempotency } from "../idempotency/idempotency.ts";
import { Ledger } from "../ledger/ledger.ts";
import { describeLosses } from "../ledger/losses.ts";
import { RateLimiter } from "../limits/rate-limiter.ts";
import type { Log } from "../observe/log.ts";
import { openStore } from "../store/open.ts";
import type { JournaledStore, Snapshot } from "../store/store.ts";
import type { Backend } from "./backend.ts";

interface SqliteBackendOptions {
  /** The data folder. It has one gateway at a time. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Interval of the check whether the clock was ahead, which is a single comparison. */
const clockCheckMs = 10_000;

/** Balances, buckets and claims in the memory of the one gateway, and a journal that makes them last. */
export async function openSqliteBackend(options: SqliteBackendOptions): Promise<Backend> {
  const { dir, clock } = options;
  const store = await openStore({ dir, clock, role: "gateway" });
  try {
    return await backendOn(store, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function backendOn(
  store: JournaledStore,
  { clock: systemClock, log }: SqliteBackendOptions,
): Promise<Backend> {
  const snapshot = await store.load();
  const clock = new SteadyClock(systemClock, latestOf(snapshot));
  const ledger = await Ledger.open({ store, clock, snapshot });
  const interrupted = snapshot.openHolds.length;
  if (interrupted > 0) {
    log.warn(
      { interrupted },
      "the last process stopped with requests in progress; charged their output so far",
    );
  }
  const clockChecks = new Repeating();
  const returned = "a clock was ahead: caps, budgets and daily totals returned to the present";
  clockChecks.start(clockCheckMs, () =>
    ledger.returnToPresent().then(
      (hasReturned) => hasReturned && log.warn({}, returned),
      // The journal reports its own failures, and the next turn tries again.
      () => {},
    ),
  );
  return {
    store,
    accounts: ledger,
    rateLimits: new RateLimiter(clock),
    claims: new Idempotency({ store, clock }),
    node: randomInt(2 ** 47),
    keys: snapshot.keys,
    signIns: snapshot.signIns,
    revision: snapshot.revision,
    changesEveryMs: null,
    get problem() {
      return store.problem;
    },
    clockOffsetMs: 0,
    stats: store.stats,
    describeLosses: () => describeLosses(store, ledger),
    // There is no other node that could take it over.
    attach: () => {},
    close: async () => {
      await clockChecks.stop();
      await store.close();
    },
  };
}

/** The latest time that the last process has counted at. */
function latestOf({ accountTotals, capTotals, keyTotals }: Snapshot): number {
  let latestMs = 0;
  for (const { countedAtMs } of accountTotals) latestMs = Math.max(latestMs, countedAtMs);
  for (const { periodStartMs } of capTotals) latestMs = Math.max(latestMs, periodStartMs);
  for (const { day } of keyTotals) latestMs = Math.max(latestMs, day * msPerDay);
  return latestMs;
}
