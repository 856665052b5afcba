import { assert, assertAmount } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import {
  type Changes,
  emptyTotals,
  type JournaledStore,
  type JournalItem,
  type Snapshot,
} from "../store/store.ts";
import { Account, type Settled } from "./account.ts";
import type { Accounts, HeldSums } from "./accounts.ts";
import { checkTotals } from "./audit.ts";
import { Hold, type HoldRequest, type PricedCharge, type Settlement } from "./hold.ts";
import { ProgressNotes } from "./progress.ts";
import { recoverHolds } from "./recover.ts";
import { journalUnavailable } from "./refusals.ts";
import type { AccountSummary } from "./summary.ts";

export interface LedgerOptions {
  readonly store: JournaledStore;
  readonly clock: Clock;
  readonly snapshot: Snapshot;
  /** How often progress is journaled. The simulation sets it out of reach, to be repeatable. */
  readonly progressTickMs?: number;
}

const defaultProgressTickMs = 50;

/**
 * The accounts of the one gateway of a store, in memory. A hold is decided with no await between the check and the
 * reservation. The journal makes what was decided durable; a hold has no row there before its first progress, so at
 * the next start a hold without progress is released by having left no trace.
 */
export class Ledger implements Accounts {
  readonly #store: JournaledStore;
  readonly #clock: Clock;
  readonly #accounts = new Map<string, Account>();
  readonly #progress: ProgressNotes;
  #openHolds = 0;

  private constructor({ store, clock, snapshot, progressTickMs = defaultProgressTickMs }: LedgerOptions) {
    this.#store = store;
    this.#clock = clock;
    const journal = (holds: readonly Hold[]) => this.#commitUnattended(holds.map(progressItem));
    this.#progress = new ProgressNotes({ clock, tickMs: progressTickMs, journal });
    const keys = new Map(snapshot.keys.map((key) => [key.id, key]));
    for (const totals of snapshot.accounts) {
      const key = keys.get(totals.keyId);
      assert(key !== undefined, `account ${totals.keyId} has no key`);
      this.#accounts.set(totals.keyId, new Account(key, totals));
    }
  }

  /** Recovers the holds that the last process left open. Must complete before the first request is admitted. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    checkTotals(options.snapshot);
    const ledger = new Ledger(options);
    const { store, clock, snapshot } = options;
    await recoverHolds(store, snapshot.openHolds, (keyId) => ledger.#account(keyId), clock.wallMs());
    return ledger;
  }

  get openHolds(): number {
    return this.#openHolds;
  }

  hold(request: HoldRequest): Hold {
    if (!this.#store.healthy) throw journalUnavailable();
    const account = this.#account(request.keyId);
    const openedAtMs = this.#clock.wallMs();
    const periodStartMs = account.hold(request.amount, openedAtMs);
    this.#openHolds += 1;
    return new Hold({ ...request, openedAtMs, periodStartMs });
  }

  progress(hold: Hold, soFar: PricedCharge): void {
    this.#progress.take(hold, soFar);
  }

  /** Memory is updated at once. */
  async settle(hold: Hold, settlement: Settlement): Promise<Settled | null> {
    // Checked before the hold ends, so that it can still be released if the cost is invalid.
    assertAmount(settlement.cost, "cost");
    if (!this.#end(hold, "settled")) return null;
    const account = this.#account(hold.keyId);
    const atMs = this.#clock.wallMs();
    const settled = account.settle(hold, settlement.cost, atMs);
    hold.chargedWith(settled.charged);
    const record = recordOf(settlement, account, settled);
    if (record !== null) account.count(record);
    const item: JournalItem = {
      kind: "settle",
      holdId: hold.id,
      hasProgress: hold.journaledAtMs !== null,
      charge: {
        keyId: hold.keyId,
        exchangeId: hold.id,
        atMs,
        periodStartMs: hold.periodStartMs,
        charged: settled.charged,
        overrun: settled.overrun,
        basis: settlement.basis,
        outcome: settlement.outcome,
        model: hold.model,
        askedModel: hold.askedModel,
        provider: settlement.provider,
        rates: settlement.rates,
        quantities: settlement.quantities,
        listCostNano: settlement.listCostNano,
      },
      record,
      response: settlement.response,
      ending: settlement.ending && { ...settlement.ending, atMs },
    };
    await this.#store.commit([item], this.#openHolds > 0);
    return settled;
  }

  release(hold: Hold): boolean {
    if (!this.#end(hold, "released")) return false;
    this.#account(hold.keyId).release(hold);
    if (hold.journaledAtMs !== null) this.#commitUnattended([{ kind: "release", holdId: hold.id }]);
    return true;
  }

  remaining({ keyId }: Hold): number {
    return this.#account(keyId).remaining(this.#clock.wallMs());
  }

  summaries(keyIds: readonly string[]): readonly AccountSummary[] {
    return keyIds.map((keyId) => this.summary(keyId));
  }

  held(): HeldSums {
    const sums = { nano: 0, tokens: 0 };
    if (this.#openHolds === 0) return sums;
    const nowMs = this.#clock.wallMs();
    for (const account of this.#accounts.values()) {
      const { held, budgetHeld } = account.summary(nowMs);
      sums.nano += held;
      sums.tokens += budgetHeld;
    }
    return sums;
  }

  summary(keyId: string): AccountSummary {
    return this.#account(keyId).summary(this.#clock.wallMs());
  }

  apply(changes: Changes): void {
    for (const key of changes.keys) {
      const account = this.#accounts.get(key.id);
      if (account !== undefined) account.key = key;
      else this.#accounts.set(key.id, new Account(key, emptyTotals(key.id)));
    }
    for (const entry of changes.entries) this.#account(entry.keyId).credit(entry.amount);
  }

  /** Journals the progress that is due. A timer does so too while there is any. */
  journalProgress(): void {
    this.#progress.tell();
  }

  #account(keyId: string): Account {
    const account = this.#accounts.get(keyId);
    assert(account !== undefined, `there is no account for key ${keyId}`);
    return account;
  }

  /** The one place where a hold ends. */
  #end(hold: Hold, state: "settled" | "released"): boolean {
    if (!hold.end(state)) return false;
    this.#openHolds -= 1;
    this.#progress.forget(hold);
    return true;
  }

  /** For items that nothing waits for and a crash may lose. The store reports its own failures. */
  #commitUnattended(items: readonly JournalItem[]): void {
    this.#store.commit(items).catch(() => {});
  }
}

/**
 * Makes the record agree with the ledger: the same outcome, and the amount charged. Token-budget keys are not charged
 * in money, so theirs is 0.
 */
function recordOf({ record, outcome, basis }: Settlement, { key }: Account, { charged }: Settled) {
  if (record === null) return null;
  record.outcome = outcome;
  record.basis = basis;
  record.costNano = key.mode === "credit" ? charged : 0;
  return record;
}

function progressItem({ id, keyId, openedAtMs, periodStartMs, soFar, model, askedModel }: Hold): JournalItem {
  assert(soFar !== null, "progress is journaled once there is some");
  const { cost: chargeSoFar, rates, quantities } = soFar;
  const hold = { holdId: id, keyId, openedAtMs, periodStartMs, model, askedModel };
  return { kind: "progress", progress: { ...hold, chargeSoFar, rates, quantities } };
}
