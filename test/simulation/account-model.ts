import { msPerDay } from "../../src/base/clock.ts";
import type { AccountTotals, KeyRecord } from "../../src/store/store.ts";

export interface ModelHold {
  readonly id: string;
  readonly amount: number;
  readonly periodStartMs: number;
}

/**
 * What the protocol says about one account, written a second time and as plainly as possible, without regard to
 * speed: the ledger must always agree with it. Budgets of the simulation are per UTC day, or never refresh.
 */
export class AccountModel {
  readonly key: KeyRecord;
  budget: number;
  posted = 0;
  used = 0;
  period = 0;
  periodUsed = 0;
  readonly holds = new Map<string, ModelHold>();

  constructor(key: KeyRecord) {
    this.key = key;
    this.budget = key.budgetTokens ?? 0;
  }

  get isCredit(): boolean {
    return this.key.mode === "credit";
  }

  get held(): number {
    let sum = 0;
    for (const hold of this.holds.values()) if (hold.periodStartMs === this.period) sum += hold.amount;
    return sum;
  }

  get balance(): number {
    return this.isCredit ? this.posted : Math.max(0, this.budget - this.periodUsed);
  }

  see(nowMs: number): void {
    if (this.key.period !== "day") return;
    const today = Math.floor(nowMs / msPerDay) * msPerDay;
    if (today <= this.period) return;
    this.period = today;
    this.periodUsed = 0;
  }

  /** The refusal's code, or null when it is admitted. */
  expectedRefusal(amount: number): string | null {
    if (this.balance < amount) {
      const isUsedUp = !this.isCredit && this.balance === 0 && this.key.period !== "none";
      return isUsedUp ? "limit_reached" : "insufficient_credit";
    }
    return this.balance - this.held < amount ? "balance_temporarily_reserved" : null;
  }

  open(hold: ModelHold): void {
    this.holds.set(hold.id, hold);
  }

  release(id: string): void {
    this.holds.delete(id);
  }

  /** What settling must charge. */
  settle(hold: ModelHold, cost: number): number {
    const free = Math.max(0, this.balance - this.held);
    const isPast = hold.periodStartMs !== this.period;
    const most = isPast ? hold.amount : hold.amount + free;
    const charged = Math.max(0, Math.min(cost, this.isCredit ? Math.min(most, this.posted) : most));
    this.holds.delete(hold.id);
    this.posted -= charged;
    this.used += charged;
    if (!isPast) this.periodUsed += charged;
    return charged;
  }

  /** After a crash the database says what happened; nothing is held any more. */
  restart(totals: AccountTotals, budget: number): void {
    this.budget = budget;
    this.posted = this.isCredit ? totals.posted : 0;
    this.used = totals.used;
    this.period = totals.periodStartMs;
    this.periodUsed = totals.periodUsed;
    this.holds.clear();
  }
}
