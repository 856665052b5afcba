import { assert, assertAmount } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { type Changes, emptyTotals, type JournalItem, type Snapshot, type Store } from "../store/store.ts";
import { Account, type Settled } from "./account.ts";
import { checkTotals } from "./audit.ts";
import { Hold, type HoldRequest, type Settlement } from "./hold.ts";
import { ProgressNotes } from "./progress.ts";
import { recoverHolds } from "./recover.ts";
import { journalUnavailable } from "./refusals.ts";
import type { AccountSummary } from "./summary.ts";

/**
 * The protocol that keeps money right:
 *
 * 1. An account's `posted` balance changes only by an append-only entry. `available = posted − held`.
 * 2. A hold is decided in memory, with no await between the check and the reservation.
 * 3. A hold ends exactly once: settled or released. A second attempt to end it does nothing.
 * 4. Charges are written in batches: one transaction and one fsync serve every request that is waiting.
 * 5. What a hold has produced so far is journaled in the background; nothing waits for it.
 * 6. `settle` resolves when the charge is durable. Only then may the bytes that end the response leave.
 * 7. At start, a hold with journaled progress is charged for what it had produced (`interrupted`). One without
 *    left no trace, which releases it.
 * 8. A cost above its hold is charged as far as the balance allows. The rest is recorded as an `overrun` entry; the
 *    balance never becomes negative.
 * 9. While charges cannot be written, no new hold is given. What runs is settled from the store's reserve.
 */

export type { Settled } from "./account.ts";
export type { Hold, HoldRequest, Settlement } from "./hold.ts";
export type { AccountSummary } from "./summary.ts";

export interface LedgerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly snapshot: Snapshot;
  /** How often progress is journaled. The simulation sets it out of reach, to be repeatable. */
  readonly progressTickMs?: number;
}

const defaultProgressTickMs = 50;

export class Ledger {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #accounts = new Map<string, Account>();
  readonly #progress: ProgressNotes;
  #openHolds = 0;

  private constructor({ store, clock, snapshot, progressTickMs = defaultProgressTickMs }: LedgerOptions) {
    this.#store = store;
    this.#clock = clock;
    const commit = (items: readonly JournalItem[]) => this.#commitUnattended(items);
    this.#progress = new ProgressNotes({ clock, tickMs: progressTickMs, commit });
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

  /**
   * Throws `insufficient_credit`, `balance_temporarily_reserved`, `limit_reached` or `service_unavailable`; then
   * nothing is held.
   */
  hold({ keyId, exchangeId, model, amount }: HoldRequest): Hold {
    if (!this.#store.healthy) throw journalUnavailable();
    const account = this.#account(keyId);
    const openedAtMs = this.#clock.wallMs();
    const periodStartMs = account.hold(amount, openedAtMs);
    this.#openHolds += 1;
    return new Hold({ keyId, exchangeId, model, amount, openedAtMs, periodStartMs });
  }

  /** Cheap enough for every chunk of a stream: it is only noted, and journaled now and then. */
  progress(hold: Hold, chargeSoFar: number): void {
    this.#progress.take(hold, chargeSoFar);
  }

  /** Resolves when the charge is durable, with null if the hold had ended already. Memory is updated at once. */
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
    await this.#store.commit([
      {
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
          provider: settlement.provider,
          listCostNano: settlement.listCostNano,
        },
        record,
        response: settlement.response,
        ending: settlement.ending && { ...settlement.ending, atMs },
      },
    ]);
    return settled;
  }

  /** Releases the hold. False if it had ended already. */
  release(hold: Hold): boolean {
    if (!this.#end(hold, "released")) return false;
    this.#account(hold.keyId).release(hold);
    if (hold.journaledAtMs !== null) this.#commitUnattended([{ kind: "release", holdId: hold.id }]);
    return true;
  }

  /** What a key may spend, including what is held; infinite for a budget without a limit. */
  balance(keyId: string): number {
    return this.#account(keyId).balance(this.#clock.wallMs());
  }

  /** What a key may spend minus what is held; infinite for a budget without a limit. */
  remaining(keyId: string): number {
    return this.#account(keyId).remaining(this.#clock.wallMs());
  }

  /** From memory, so it takes the same time however long the history is. */
  summary(keyId: string): AccountSummary {
    return this.#account(keyId).summary(this.#clock.wallMs());
  }

  /** Applies keys, top-ups and adjustments of any process. Each entry must be passed exactly once. */
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
