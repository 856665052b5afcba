import type { Clock } from "../base/clock.ts";
import { Repeating } from "../base/loop/repeating.ts";
import { SharedClaims } from "../idempotency/shared-claims.ts";
import { SharedAccounts } from "../ledger/shared-accounts.ts";
import { moneyRules } from "../ledger/shared-batch.ts";
import { SharedRateLimits } from "../limits/shared-rate-limits.ts";
import type { Log } from "../observe/log.ts";
import { type NodeEvent, type NodeTiming, usualTiming } from "../store/node.ts";
import { joinStore, openStore } from "../store/open.ts";
import type { PostgresLocation } from "../store/settings.ts";
import type { Backend } from "./backend.ts";

export interface PostgresBackendOptions {
  readonly location: PostgresLocation;
  /** A name for people; several nodes may have the same. */
  readonly nodeName: string;
  readonly version: string;
  /** The data folder, for charges that the database has not acknowledged. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Interval of the clock check, which reads all accounts and keys and can run on any node. A clock that is behind in two
 * checks in a row is accepted; one that is set back briefly changes nothing.
 */
const clockCheckMs = 60_000;

/** Balances, buckets and claims in a database that any number of gateways share. */
export async function openPostgresBackend(options: PostgresBackendOptions): Promise<Backend> {
  const { location, nodeName: name, version, dir, clock, log } = options;
  const store = await openStore({
    location,
    clock,
    role: "gateway",
    onBackgroundError: (err) => log.error({ err }, "periodic work on the database failed"),
  });
  try {
    const { keys, signIns, valueCaps, revision } = await store.load();
    const clockChecks = new Repeating();
    let wasBehind = false;
    const checkClock = async () => {
      try {
        const isBehind = await store.isAhead(clock.wallMs());
        const returned = isBehind && wasBehind ? await store.returnToPresent(clock.wallMs()) : null;
        wasBehind = isBehind && returned === null;
        if (returned)
          log.warn(returned, "a clock was ahead: caps, budgets and daily totals returned to the present");
      } catch (err) {
        log.error({ err }, "could not check for periods that a clock moved into the future");
      }
    };
    await checkClock();
    clockChecks.start(clockCheckMs, checkClock);
    const report = (event: NodeEvent) => logNodeEvent(log, event);
    const node = await joinStore({
      location,
      name,
      version,
      dir,
      timing: nodeTiming(),
      rules: moneyRules,
      report,
    });
    return {
      store,
      accounts: new SharedAccounts({ node, clock, keys, valueCaps, written: () => store.written() }),
      rateLimits: new SharedRateLimits(clock, node),
      claims: new SharedClaims({ store, node, clock }),
      get node() {
        return node.no;
      },
      keys,
      signIns,
      revision,
      // Each look is a round trip, and many gateways may look.
      changesEveryMs: 250,
      get problem() {
        return node.problem;
      },
      get clockOffsetMs() {
        return node.clockOffsetMs;
      },
      get stats() {
        return node.stats;
      },
      describeLosses: () => node.describeLosses(),
      attach: (gateway) => node.attach(gateway),
      close: async () => {
        await clockChecks.stop();
        await node.leave();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * How long a node counts as alive after its last heartbeat. Only Sluice's own tests change it, with
 * `SLUICE_TEST_NODE_TIMING=lease,grace,beat,answer` in milliseconds: waiting for real leases would take minutes. It is
 * not a setting, because all nodes of a database must agree on it.
 */
function nodeTiming(text = process.env["SLUICE_TEST_NODE_TIMING"]): NodeTiming {
  const [leaseMs, graceMs, beatMs, replyMs] = (text ?? "").split(",").map(Number);
  if (!leaseMs || !graceMs || !beatMs || !replyMs) return usualTiming;
  return { leaseMs, graceMs, beatMs, replyMs };
}

/** Logs what happens to a node, and what it does for others. */
function logNodeEvent(log: Log, { kind, ...fields }: NodeEvent): void {
  const [level, message] = lines[kind];
  log[level](fields, message);
}

type Line = readonly [level: "info" | "warn" | "error", message: string];

const lines: Readonly<Record<NodeEvent["kind"], Line>> = {
  joined: ["info", "joined as a node"],
  fenced: [
    "error",
    "another node took over this one, because it missed its heartbeats; " +
      "requests in progress end, and this node rejoins",
  ],
  took_over: ["warn", "took over nodes that missed their heartbeats"],
  cleared: ["warn", "ended the requests of dead nodes and charged the output so far"],
  made_up: ["warn", "wrote charges left by an earlier process"],
  rejected: [
    "error",
    "the database rejected a charge; it stays in the data folder, and the next start retries it",
  ],
  blocked: [
    "warn",
    "another database session locks this key's account; its requests are rejected and its charges wait until the lock is released",
  ],
  unkept: [
    "error",
    "charges cannot be saved in the data folder while the database is unavailable; if this process ends, they are lost",
  ],
  clock_differs: [
    "warn",
    "this machine's clock differs from the database's, which determines periods and days",
  ],
};
