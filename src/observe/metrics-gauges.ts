import type { Exposition } from "./exposition.ts";

/** Values that are read when the metrics are scraped. */
export interface Gauges {
  readonly version: string;
  readonly startedAtMs: number;
  /** All configured providers: their failures are counted from 0, and their alerts are 0 before they fire. */
  readonly providers: readonly string[];
  /** Whether the gateway accepts requests, same as `/readyz`. */
  readonly ready: boolean;
  readonly inFlight: number;
  readonly backgroundInFlight: number;
  readonly batches: BatchGauges;
  readonly requestLogDropped: number;
  /** Null if content is not recorded. */
  readonly droppedContent: number | null;
  readonly droppedSpans: number;
  /** Null if the ledger's feed is not pushed. */
  readonly feed: FeedGauges | null;
  readonly heldCredits: number;
  readonly heldTokens: number;
  /** Cost settled by this process beyond what balances, budgets and caps could pay. */
  readonly overrunCredits: number;
  readonly overrunTokens: number;
  readonly eventLoopLagMs: number;
  readonly residentBytes: number;
  readonly journal: JournalGauges;
  /** Number of active alerts, by kind. */
  readonly activeAlerts: readonly {
    readonly kind: string;
    /** Null for kinds that are not about a provider. */
    readonly provider: string | null;
    readonly count: number;
  }[];
  readonly accounts: readonly AccountGauges[];
  readonly breakers: readonly {
    readonly deployment: string;
    readonly state: string;
    readonly inFlight: number;
  }[];
}

/** The gauges of an account that several keys share, in credits or tokens. */
export interface AccountGauges {
  readonly account: string;
  /** The account's label. */
  readonly label: string;
  readonly unit: "credits" | "tokens";
  /** Negative if the account owes; null for a budget without a limit. */
  readonly balance: number | null;
  readonly caps: readonly {
    readonly period: string;
    /** A pattern; empty for all models. */
    readonly models: string;
    readonly limit: number;
    readonly used: number;
  }[];
}

export interface BatchGauges {
  /** Batches that have not ended, by state. */
  readonly states: Readonly<Record<string, number>>;
  readonly waitingLines: number;
  readonly runningLines: number;
  /** The age of the oldest batch that has not ended. */
  readonly oldestSeconds: number;
  /** Lines that ended here, by outcome. */
  readonly ended: Readonly<Record<string, number>>;
  readonly reruns: number;
  readonly unknownResults: number;
}

interface FeedGauges {
  readonly lagEntries: number;
  readonly lagSeconds: number;
  /** By result. */
  readonly posts: Readonly<Record<string, number>>;
}

interface JournalGauges {
  readonly batches: number;
  readonly items: number;
  readonly failedBatches: number;
  readonly lastBatchItems: number;
  readonly lastBatchMs: number;
  readonly pendingItems: number;
}

export function renderGauges(out: Exposition, gauges: Gauges): void {
  const { activeAlerts, accounts, breakers } = gauges;
  const gauge = (name: string, help: string, samples: Parameters<Exposition["family"]>[3]) =>
    out.family(name, "gauge", help, samples);
  gauge("sluice_build_info", "Always 1; the label has the version.", [[{ version: gauges.version }, 1]]);
  gauge(
    "process_start_time_seconds",
    "When the process started, in seconds since 1970.",
    gauges.startedAtMs / 1000,
  );
  gauge(
    "sluice_ready",
    "1 if the gateway accepts new requests (same as /readyz), else 0.",
    gauges.ready ? 1 : 0,
  );
  gauge("sluice_requests_in_flight", "Requests in progress.", gauges.inFlight);
  gauge(
    "sluice_background_in_flight",
    "Background responses that this gateway runs.",
    gauges.backgroundInFlight,
  );
  renderBatches(out, gauges.batches);
  const dropped =
    "Requests missing from the request log and from reports, because there were too many at once.";
  out.family("sluice_request_log_dropped_total", "counter", dropped, gauges.requestLogDropped);
  if (gauges.droppedContent !== null) {
    const lost = "Requests whose content was not recorded or traced, because a queue or the disk was full.";
    out.family("sluice_content_dropped_total", "counter", lost, gauges.droppedContent);
  }
  out.family(
    "sluice_spans_dropped_total",
    "counter",
    "Spans that did not reach the trace collector.",
    gauges.droppedSpans,
  );
  if (gauges.feed !== null) renderFeed(out, gauges.feed);
  gauge("sluice_reserved", "Credits and tokens reserved by requests in progress.", [
    [{ unit: "credits" }, gauges.heldCredits],
    [{ unit: "tokens" }, gauges.heldTokens],
  ]);
  const overrun = "Costs above the hold that no balance, budget or cap covered, and that were not charged.";
  out.family("sluice_overrun_total", "counter", overrun, [
    [{ unit: "credits" }, gauges.overrunCredits],
    [{ unit: "tokens" }, gauges.overrunTokens],
  ]);
  gauge(
    "sluice_event_loop_lag_seconds",
    "Longest recent event-loop lag, in seconds.",
    gauges.eventLoopLagMs / 1000,
  );
  gauge("process_resident_memory_bytes", "Resident memory, in bytes.", gauges.residentBytes);
  renderJournal(out, gauges.journal);
  gauge(
    "sluice_alerts_active",
    "Active alerts by kind, as `sluice status` lists them; alerts about a provider also by provider.",
    activeAlerts.map(({ kind, provider, count }) => [
      provider === null ? { kind } : { kind, provider },
      count,
    ]),
  );
  renderAccounts(out, accounts);
  gauge(
    "sluice_breaker_state",
    "1 for the current state of a deployment's circuit breaker.",
    breakers.map(({ deployment, state }) => [{ deployment, state }, 1]),
  );
  gauge(
    "sluice_deployment_in_flight",
    "Upstream calls in progress by deployment.",
    breakers.map(({ deployment, inFlight }) => [{ deployment }, inFlight]),
  );
}

function renderAccounts(out: Exposition, accounts: readonly AccountGauges[]): void {
  out.family(
    "sluice_account_balance",
    "gauge",
    "Balance of an account in its unit, credits or tokens; negative if it owes.",
    accounts.flatMap(({ account, label, unit, balance }) =>
      balance === null ? [] : [[{ account, label, unit }, balance] as const],
    ),
  );
  const caps = (name: string, help: string, figure: "limit" | "used") => {
    const samples = accounts.flatMap(({ account, label, unit, caps: ofAccount }) =>
      ofAccount.map((cap) => {
        const { period, models } = cap;
        return [{ account, label, unit, period, models }, cap[figure]] as const;
      }),
    );
    out.family(name, "gauge", help, samples);
  };
  caps("sluice_account_cap_limit", "Limit of an account's cap in the current period.", "limit");
  caps("sluice_account_cap_used", "Used amount of an account's cap in the current period.", "used");
}

function renderJournal(out: Exposition, journal: JournalGauges): void {
  const { batches, items, failedBatches, lastBatchItems, lastBatchMs, pendingItems } = journal;
  const perBatch = "Items written. Divide by batches for the mean batch size.";
  const failed = "Batches that could not be written.";
  out.family("sluice_journal_batches_total", "counter", "Batches written.", batches);
  out.family("sluice_journal_items_total", "counter", perBatch, items);
  out.family("sluice_journal_failed_batches_total", "counter", failed, failedBatches);
  out.family("sluice_journal_last_batch_items", "gauge", "Items in the last batch.", lastBatchItems);
  out.family(
    "sluice_journal_last_batch_seconds",
    "gauge",
    "Duration of the last batch, in seconds.",
    lastBatchMs / 1000,
  );
  out.family("sluice_journal_pending_items", "gauge", "Items waiting to be written.", pendingItems);
}

function renderBatches(out: Exposition, batches: BatchGauges): void {
  const { states, waitingLines, runningLines, oldestSeconds, ended, reruns, unknownResults } = batches;
  const byName = (label: string, counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([name, count]) => [{ [label]: name }, count] as const);
  out.family("sluice_batches", "gauge", "Unfinished batches by state.", byName("state", states));
  const lines = { waiting: waitingLines, running: runningLines };
  out.family("sluice_batch_lines", "gauge", "Lines of unfinished batches by state.", byName("state", lines));
  const oldest = "Age of the oldest unfinished batch, in seconds.";
  out.family("sluice_batch_oldest_seconds", "gauge", oldest, oldestSeconds);
  const total = "Lines of batches that this gateway ran to their end, by outcome.";
  out.family("sluice_batch_lines_total", "counter", total, byName("outcome", ended));
  const again = "Lines that ran again, because a process ended or a provider's batch had no result for them.";
  out.family("sluice_batch_reruns_total", "counter", again, reruns);
  const unknown = "Results in providers' batches that belong to no line.";
  out.family("sluice_batch_unknown_results_total", "counter", unknown, unknownResults);
}

function renderFeed(out: Exposition, { lagEntries, lagSeconds, posts }: FeedGauges): void {
  const lag = "Ledger entries that the receiver of the feed has not accepted yet.";
  out.family("sluice_feed_lag_entries", "gauge", lag, lagEntries);
  const age = "Age of the oldest entry that the receiver of the feed has not accepted yet, in seconds.";
  out.family("sluice_feed_lag_seconds", "gauge", age, lagSeconds);
  const sent = "Posts of the feed by this gateway: accepted, rejected with 4xx, or failed and sent again.";
  out.family(
    "sluice_feed_posts_total",
    "counter",
    sent,
    Object.entries(posts).map(([result, count]) => [{ result }, count]),
  );
}
