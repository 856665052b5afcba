import type { Exposition } from "./exposition.ts";

/** Values that are read when the metrics are scraped. */
export interface Gauges {
  /** Whether new work is taken, as `/readyz` says. */
  readonly ready: boolean;
  readonly inFlight: number;
  readonly droppedEndings: number;
  readonly heldCredits: number;
  readonly heldTokens: number;
  readonly eventLoopLagMs: number;
  readonly residentBytes: number;
  readonly journal: JournalGauges;
  /** How much needs the operator's attention, by kind. */
  readonly attention: readonly { readonly kind: string; readonly findings: number }[];
  readonly accounts: readonly AccountGauges[];
  readonly breakers: readonly {
    readonly deployment: string;
    readonly state: string;
    readonly inFlight: number;
  }[];
}

/** Of an account that keys share, in credits or tokens. */
export interface AccountGauges {
  readonly account: string;
  /** What the operator calls it. */
  readonly label: string;
  readonly unit: "credits" | "tokens";
  /** Below 0 is owed; null for a budget without a limit. */
  readonly balance: number | null;
  readonly caps: readonly {
    readonly period: string;
    /** A pattern; empty for all models. */
    readonly models: string;
    readonly limit: number;
    readonly used: number;
  }[];
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
  const gauge = (name: string, help: string, value: number) => {
    out.family(name, "gauge", help);
    out.sample(name, [], value);
  };
  gauge("sluice_ready", "1 while new work is taken, as /readyz says, else 0.", gauges.ready ? 1 : 0);
  gauge("sluice_in_flight", "Exchanges that are open now.", gauges.inFlight);
  out.family(
    "sluice_dropped_endings_total",
    "counter",
    "Endings of exchanges that were neither kept nor counted in reports, because there were too many at once.",
  );
  out.sample("sluice_dropped_endings_total", [], gauges.droppedEndings);
  out.family("sluice_held", "gauge", "What open holds have set aside.");
  out.sample("sluice_held", [["unit", "credits"]], gauges.heldCredits);
  out.sample("sluice_held", [["unit", "tokens"]], gauges.heldTokens);
  gauge("sluice_event_loop_lag_seconds", "The longest recent lag.", gauges.eventLoopLagMs / 1000);
  gauge("process_resident_memory_bytes", "Resident memory.", gauges.residentBytes);
  renderJournal(out, gauges.journal);
  out.family(
    "sluice_needs_attention",
    "gauge",
    "What needs the operator's attention, as `sluice status` lists it, by kind.",
  );
  for (const { kind, findings } of gauges.attention) {
    out.sample("sluice_needs_attention", [["kind", kind]], findings);
  }
  renderAccounts(out, gauges.accounts);
  out.family("sluice_breaker_state", "gauge", "1 for the state that a deployment's breaker is in.");
  for (const { deployment, state } of gauges.breakers) {
    out.sample(
      "sluice_breaker_state",
      [
        ["deployment", deployment],
        ["state", state],
      ],
      1,
    );
  }
  out.family("sluice_deployment_in_flight", "gauge", "Open calls to a deployment.");
  for (const { deployment, inFlight } of gauges.breakers) {
    out.sample("sluice_deployment_in_flight", [["deployment", deployment]], inFlight);
  }
}

function renderAccounts(out: Exposition, accounts: readonly AccountGauges[]): void {
  type Labels = [string, string][];
  const named = ({ account, label, unit }: AccountGauges): Labels => [
    ["account", account],
    ["label", label],
    ["unit", unit],
  ];
  out.family("sluice_account_balance", "gauge", "What an account has left; below 0 it is owed.");
  for (const one of accounts) {
    if (one.balance !== null) out.sample("sluice_account_balance", named(one), one.balance);
  }
  const caps = (name: string, help: string, figure: "limit" | "used") => {
    out.family(name, "gauge", help);
    for (const one of accounts) {
      for (const { period, models, ...figures } of one.caps) {
        const labels: Labels = [...named(one), ["period", period], ["models", models]];
        out.sample(name, labels, figures[figure]);
      }
    }
  };
  caps("sluice_account_cap_limit", "The most that an account may take in the running period.", "limit");
  caps("sluice_account_cap_used", "What an account has taken in the running period.", "used");
}

function renderJournal(out: Exposition, journal: JournalGauges): void {
  const one = (name: string, type: "counter" | "gauge", help: string, value: number) => {
    out.family(name, type, help);
    out.sample(name, [], value);
  };
  one("sluice_journal_batches_total", "counter", "Batches written.", journal.batches);
  one(
    "sluice_journal_items_total",
    "counter",
    "Items written; by batches, the mean batch size.",
    journal.items,
  );
  one(
    "sluice_journal_failed_batches_total",
    "counter",
    "Batches that could not be written.",
    journal.failedBatches,
  );
  one("sluice_journal_last_batch_items", "gauge", "Items of the last batch.", journal.lastBatchItems);
  one("sluice_journal_last_batch_seconds", "gauge", "Time the last batch took.", journal.lastBatchMs / 1000);
  one("sluice_journal_pending_items", "gauge", "Items that wait to be written.", journal.pendingItems);
}
