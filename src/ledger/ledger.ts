import { assert, assertAmount } from "../base/assert.ts";
import { type Clock, isAhead } from "../base/clock.ts";
import { Bag } from "../base/collections/churn-map.ts";
import type { GatewayError } from "../base/errors.ts";
import { reasonOf } from "../store/journal/batch-writer.ts";
import type { DeniedVerdict } from "../store/node.ts";
import type {
  Changes,
  HoldProgress,
  JournaledStore,
  JournalItem,
  ParkedHold,
  PricedCharge,
  Snapshot,
} from "../store/store.ts";
import type { Account, SettleParts, SettleResult } from "./account.ts";
import type { Accounts, HeldSums } from "./accounts.ts";
import { checkTotals } from "./audit.ts";
import { Funds } from "./funds.ts";
import { Hold, type HoldRequest, type ReplacedHold, type Settlement, settleItem } from "./hold.ts";
import { chargeUncertain, holdError, journalUnavailable } from "./hold-errors.ts";
import type { AccountSummary, KeyFunds } from "./key-funds.ts";
import { ProgressNotes } from "./progress.ts";
import { recoverHolds } from "./recover.ts";

export interface LedgerOptions {
  readonly store: JournaledStore;
  readonly clock: Clock;
  readonly snapshot: Snapshot;
  /** Interval for journaling progress. The simulation disables it, to be repeatable. */
  readonly progressTickMs?: number;
}

/**
 * The accounts of a store with one gateway, in memory. A hold is decided with no await between the check and the
 * reservation. The journal makes decisions durable. A hold has no row there before its first progress, so a hold
 * without progress leaves no trace and needs no release at the next start.
 */
export class Ledger implements Accounts {
  readonly #store: JournaledStore;
  readonly #clock: Clock;
  readonly #funds: Funds;
  readonly #progress: ProgressNotes;
  readonly #open = new Bag<Hold>();
  readonly #parked = new Map<string, Hold>();
  readonly overrun = { nano: 0, tokens: 0 };
  #isReturning = false;
  /** The latest time that anything counts at or was turned to. Cached, because scanning 100,000 accounts takes 20 ms. */
  #latestMs = 0;

  private constructor({ store, clock, snapshot, progressTickMs: tickMs }: LedgerOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#funds = new Funds(store, snapshot, { [Symbol.iterator]: () => this.#allHolds() });
    const journal = (holds: readonly Hold[]) => this.#commitUnattended(holds.map(progressItem));
    this.#progress = new ProgressNotes({ tickMs, journal });
  }

  /** Recovers the holds that the last process left open. Must complete before the first request is admitted. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    checkTotals(options.snapshot);
    const ledger = new Ledger(options);
    const { store, clock, snapshot } = options;
    const nowMs = clock.wallMs();
    const holds = snapshot.openHolds.map((hold) => ({ ...hold, ...ledger.#funds.presentOf(hold, nowMs) }));
    await recoverHolds(store, holds, (hold, atMs) => ledger.#interrupt(hold, atMs), nowMs);
    for (const parked of snapshot.parkedHolds) ledger.#park(parked);
    ledger.#latestMs = ledger.#funds.latestMs();
    await ledger.returnToPresent();
    return ledger;
  }

  get openHolds(): number {
    return this.#open.size;
  }

  hold(request: HoldRequest): Hold {
    if (!this.#store.healthy || this.#isReturning) throw journalUnavailable();
    const funds = this.#funds.of(request.keyId);
    const { account } = funds;
    const openedAtMs = this.#now();
    const held = funds.hold(request, account, openedAtMs);
    if ("decision" in held) throw denialOf(held, funds, account, request.amount, openedAtMs);
    const { periodStartMs, countedAtMs } = held;
    const hold = new Hold({ ...request, accountId: account.id, openedAtMs, periodStartMs, countedAtMs });
    this.#open.add(hold);
    if (hold.isInFlight) funds.openHolds += 1;
    return hold;
  }

  replace(hold: Hold, by: ReplacedHold): void {
    if (!this.#store.healthy || this.#isReturning) throw journalUnavailable();
    assert(hold.state === "open", "only an open hold is replaced");
    const { accountId } = hold;
    const funds = this.#funds.of(hold.keyId);
    const account = this.#funds.account(accountId);
    const openedAtMs = this.#now();
    const held = funds.replace(hold, by, account, openedAtMs);
    if ("decision" in held) throw denialOf(held, funds, account, by.amount, openedAtMs);
    const { periodStartMs, countedAtMs } = held;
    hold.replaceBy({ ...by, accountId, openedAtMs, periodStartMs, countedAtMs });
  }

  progress(hold: Hold, soFar: PricedCharge): void {
    this.#progress.take(hold, soFar);
  }

  /** Updates memory at once, and resolves when the charge is durable. */
  async settle(hold: Hold, settlement: Settlement): Promise<SettleResult | null> {
    // Checked before the hold ends, so that it can still be released if the cost is invalid.
    assertAmount(settlement.cost, "cost");
    if (!this.#end(hold, "settled")) return null;
    const funds = this.#funds.of(hold.keyId);
    const account = this.#funds.account(hold.accountId);
    const atMs = this.#now();
    const { cost, waived } = settlement;
    const settled = account.settle(hold, cost, funds.capsFor(hold, account), waived, atMs);
    funds.charge(settled.charged, atMs);
    hold.charged = settled.charged;
    this.overrun[account.terms.mode === "credit" ? "nano" : "tokens"] += settled.overrun;
    const record = recordOf(settlement, account, settled);
    if (record !== null) funds.count(record);
    const item = settleItem(
      { holdId: hold.id, hasRow: hold.hasRow, held: hold.terms, atMs, record },
      settlement,
      settled,
    );
    try {
      await this.#store.commit([item], this.#open.size > 0);
    } catch (error) {
      throw reasonOf(error) === "rejected" ? error : chargeUncertain("internal_error", error);
    }
    return { charged: settled.charged, overrun: settled.overrun };
  }

  release(hold: Hold): boolean {
    if (hold.isParked || !this.#end(hold, "released")) return false;
    this.#giveBack(hold);
    if (hold.hasRow) this.#commitUnattended([{ kind: "release", holdId: hold.id }]);
    return true;
  }

  parked(hold: Hold): void {
    hold.isParked = true;
    hold.hasRow = true;
    this.#open.delete(hold);
    this.#parked.set(hold.id, hold);
  }

  adopt({ holdId }: ParkedHold): Hold | null {
    return this.#parked.get(holdId) ?? null;
  }

  async unpark(hold: Hold): Promise<void> {
    if (!this.#end(hold, "released")) return;
    this.#giveBack(hold);
    await this.#store.commit([{ kind: "release", holdId: hold.id }]);
  }

  #giveBack(hold: Hold): void {
    const account = this.#funds.account(hold.accountId);
    account.release(hold, this.#funds.of(hold.keyId).capsFor(hold, account));
  }

  /** One that an earlier process has parked. */
  #park(parked: ParkedHold): void {
    const present = this.#funds.presentOf(parked, this.#clock.wallMs());
    const hold = new Hold({ ...parked, ...present, exchangeId: parked.holdId, isInFlight: false });
    const account = this.#funds.account(hold.accountId);
    account.reserve(hold);
    for (const cap of this.#funds.of(hold.keyId).capsFor(hold, account)) {
      cap.advance(hold.countedAtMs);
      cap.reserve(hold);
    }
    this.parked(hold);
  }

  *#allHolds(): Generator<Hold> {
    yield* this.#open;
    yield* this.#parked.values();
  }

  remaining(hold: Hold): number {
    const account = this.#funds.account(hold.accountId);
    const caps = this.#funds.of(hold.keyId).capsFor(hold, account);
    account.advance(this.#now(), caps);
    return account.remaining(caps);
  }

  /** A hold decides it at once. */
  mayBeSpent(): boolean {
    return true;
  }

  summaries(keyIds: readonly string[]): readonly AccountSummary[] {
    return keyIds.map((keyId) => this.summary(keyId));
  }

  held(): HeldSums {
    const sums = { nano: 0, tokens: 0 };
    for (const { accountId, amount } of this.#allHolds()) {
      const isCredit = this.#funds.account(accountId).terms.mode === "credit";
      sums[isCredit ? "nano" : "tokens"] += amount;
    }
    return sums;
  }

  countedTags(keyId: string): readonly string[] {
    const { id: accountId } = this.#funds.of(keyId).account;
    return this.#funds.valueCaps.countedTags({ keyId, accountId });
  }

  summary(keyId: string): AccountSummary {
    return this.#funds.of(keyId).summary(this.#now());
  }

  apply(changes: Changes): void {
    this.#funds.apply(changes);
    // A new cap's period may lie in the future.
    const hasCaps =
      changes.valueCaps.caps.length > 0 ||
      [...changes.accounts, ...changes.keys].some(({ caps }) => caps.length > 0);
    if (hasCaps) this.#latestMs = Math.max(this.#latestMs, this.#funds.latestMs());
  }

  /**
   * Undoes the effects of a clock that was ahead, which has moved caps, budgets and days into the future. Once the
   * clock is right again, everything more than an hour ahead returns: the store recomputes the current sums from its
   * entries, and memory takes them over. Holds wait meanwhile, for about two commits. True if there was anything to do.
   */
  async returnToPresent(): Promise<boolean> {
    const nowMs = this.#clock.wallMs();
    if (this.#isReturning || !isAhead(this.#latestMs, nowMs)) return false;
    this.#isReturning = true;
    try {
      for (const hold of this.#allHolds()) Object.assign(hold, this.#funds.presentOf(hold, nowMs));
      // Charges made under the wrong clock have to be in the store first.
      await this.#store.commit([]);
      await this.#store.commit([{ kind: "clock", atMs: nowMs }]);
      this.#funds.recount(this.#store.countAll());
      this.#latestMs = this.#funds.latestMs();
    } finally {
      this.#isReturning = false;
    }
    return true;
  }

  /** A caller can move periods on to this time, even if nothing is charged in them. */
  #now(): number {
    const nowMs = this.#clock.wallMs();
    if (nowMs > this.#latestMs) this.#latestMs = nowMs;
    return nowMs;
  }

  /** Journals the progress that is waiting. A timer does so too. */
  journalProgress(): void {
    this.#progress.tell();
  }

  /** Charges what a hold from before a crash had produced. */
  #interrupt(hold: HoldProgress, atMs: number): SettleParts {
    const funds = this.#funds.of(hold.keyId);
    const account = this.#funds.account(hold.accountId);
    const settled = account.settleInterrupted(hold.chargeSoFar, hold, funds.capsFor(hold, account));
    funds.charge(settled.charged, atMs);
    return settled;
  }

  /** The one place where a hold ends. */
  #end(hold: Hold, state: "settled" | "released"): boolean {
    if (!hold.end(state)) return false;
    this.#open.delete(hold);
    this.#parked.delete(hold.id);
    if (hold.isInFlight) this.#funds.of(hold.keyId).openHolds -= 1;
    return true;
  }

  /** Writes items that nothing waits for and that a crash may lose. The store reports its own failures. */
  #commitUnattended(items: readonly JournalItem[]): void {
    this.#store.commit(items).catch(() => {});
  }
}

function denialOf(
  denied: DeniedVerdict,
  { key }: KeyFunds,
  { terms }: Account,
  amount: number,
  nowMs: number,
): GatewayError {
  return holdError(denied, { mode: terms.mode, maxConcurrent: key.maxConcurrent }, amount, nowMs);
}

/** Sets the amount charged in the usage record: 0 for token-budget keys, which are not charged in credits. */
function recordOf({ record }: Settlement, { terms }: Account, { charged }: SettleResult) {
  if (record === null) return null;
  record.costNano = terms.mode === "credit" ? charged : 0;
  return record;
}

function progressItem(hold: Hold): JournalItem {
  const { id: holdId, openedAtMs, soFar, terms } = hold;
  assert(soFar !== null, "progress is journaled once there is some");
  const { cost: chargeSoFar, rates, quantities, served = null } = soFar;
  return {
    kind: "progress",
    progress: { ...terms, holdId, openedAtMs, chargeSoFar, rates, quantities, served },
  };
}
