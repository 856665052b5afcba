import { assertAmount } from "../base/assert.ts";
import { utcDay } from "../base/clock.ts";
import { totalInput } from "../base/usage.ts";
import type { AccountTotals, KeyRecord, UsageRecord } from "../store/store.ts";
import { nextPeriodStart, periodStart } from "./period.ts";
import { budgetUsedUp, insufficient, temporarilyReserved } from "./refusals.ts";
import type { AccountSummary } from "./summary.ts";

/** What an account needs to know of a hold. */
export interface HeldAmount {
  readonly amount: number;
  readonly periodStartMs: number;
}

export interface Settled {
  /** Paid from the balance. */
  readonly charged: number;
  /** The part of the cost that the balance could not pay. */
  readonly overrun: number;
}

/**
 * One account in memory, and all arithmetic on it. Each key has one of its own. Amounts are nano-credits for a credit
 * account. For a token budget they are tokens: its balance is what is left of the budget in the current period, and
 * only holds of that period count against it.
 */
export class Account {
  key: KeyRecord;
  #posted: number;
  /** What was bought and spent may be more than a double holds exactly. */
  #purchased: bigint;
  #held: number;
  #day: number;
  #daySpend: bigint;
  #periodStartMs: number;
  #periodUsed: number;
  #requests: number;
  #inputTokens: number;
  #outputTokens: number;
  #lastCostNano: number;

  constructor(key: KeyRecord, totals: AccountTotals, held = 0) {
    this.key = key;
    this.#held = held;
    this.#posted = totals.posted;
    this.#purchased = BigInt(totals.purchasedDigits ?? totals.purchased);
    this.#day = totals.day;
    this.#daySpend = BigInt(totals.daySpendDigits ?? totals.daySpend);
    this.#periodStartMs = totals.periodStartMs;
    this.#periodUsed = totals.periodUsed;
    this.#requests = totals.requests;
    this.#inputTokens = totals.inputTokens;
    this.#outputTokens = totals.outputTokens;
    this.#lastCostNano = totals.lastCostNano;
  }

  /**
   * Reserves the amount, or throws a refusal. Returns the start of the period it counts against. Nothing may be awaited
   * between the check and the reservation.
   */
  hold(amount: number, nowMs: number): number {
    assertAmount(amount, "hold");
    this.#turnPeriod(nowMs);
    const balance = this.#balance();
    if (balance < amount) throw this.#refusal(amount, balance, nowMs);
    if (balance - this.#held < amount) throw temporarilyReserved(this.key.mode, balance);
    this.#held += amount;
    return this.#periodStartMs;
  }

  release(hold: HeldAmount): void {
    if (hold.periodStartMs === this.#periodStartMs) this.#held -= hold.amount;
  }

  /** Ends the hold and charges the cost as far as the balance goes. */
  settle(hold: HeldAmount, cost: number, atMs: number): Settled {
    const charged = Math.min(cost, this.#affordable(hold));
    this.release(hold);
    this.#charge(charged, hold.periodStartMs, atMs);
    return { charged, overrun: cost - charged };
  }

  /** A hold from before a crash has no reservation in memory, so it is charged like a hold of 0. */
  settleInterrupted(cost: number, periodStartMs: number, atMs: number): Settled {
    if (periodStartMs > this.#periodStartMs) this.#startPeriod(periodStartMs);
    const isPast = periodStartMs < this.#periodStartMs;
    return this.settle({ amount: isPast ? cost : 0, periodStartMs }, cost, atMs);
  }

  credit(amount: number): void {
    this.#posted += amount;
    this.#purchased += BigInt(amount);
  }

  count(record: UsageRecord): void {
    this.#requests += 1;
    this.#inputTokens += totalInput(record.usage);
    this.#outputTokens += record.usage.outputTokens;
    this.#lastCostNano = record.costNano;
  }

  /** What may still be held; infinite for a budget without a limit. */
  remaining(nowMs: number): number {
    this.#turnPeriod(nowMs);
    return Math.max(0, this.#balance() - this.#held);
  }

  summary(nowMs: number): AccountSummary {
    const remaining = this.remaining(nowMs);
    const isCredit = this.key.mode === "credit";
    const exact = this.#exactSums(nowMs);
    const used = Number(exact.used);
    return {
      mode: this.key.mode,
      posted: isCredit ? this.#posted : 0,
      held: isCredit ? this.#held : 0,
      available: isCredit ? remaining : 0,
      purchased: Number(exact.purchased),
      used,
      todaySpend: Number(exact.todaySpend),
      lifetimeSpend: used,
      lastCostNano: this.#lastCostNano,
      requests: this.#requests,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      totalTokens: this.#inputTokens + this.#outputTokens,
      budgetTokens: isCredit ? null : this.key.budgetTokens,
      budgetUsed: isCredit ? 0 : this.#periodUsed,
      budgetHeld: isCredit ? 0 : this.#held,
      budgetRemaining: isCredit || this.key.budgetTokens === null ? null : remaining,
      periodEndsMs: isCredit ? null : this.#periodEnd(nowMs),
      exact,
    };
  }

  #exactSums(nowMs: number): AccountSummary["exact"] {
    const isCredit = this.key.mode === "credit";
    return {
      purchased: this.#purchased,
      used: isCredit ? this.#purchased - BigInt(this.#posted) : 0n,
      todaySpend: isCredit && utcDay(nowMs) <= this.#day ? this.#daySpend : 0n,
    };
  }

  #balance(): number {
    if (this.key.mode === "credit") return this.#posted;
    const { budgetTokens } = this.key;
    return budgetTokens === null ? Number.POSITIVE_INFINITY : Math.max(0, budgetTokens - this.#periodUsed);
  }

  /**
   * The most that settling this hold may charge: its own amount plus what no other hold has reserved. If an operator
   * has lowered the balance below what is held, the balance is the limit.
   */
  #affordable(hold: HeldAmount): number {
    const balance = this.#balance();
    if (this.key.mode === "token_budget") {
      // What is left of a past period is no longer known, but the hold itself was covered by it.
      if (hold.periodStartMs !== this.#periodStartMs) return hold.amount;
      return hold.amount + Math.max(0, balance - this.#held);
    }
    return Math.max(0, Math.min(balance, hold.amount + Math.max(0, balance - this.#held)));
  }

  /** Keeps the same sums as the store. A charge of an earlier day or period changes only the totals. */
  #charge(charged: number, periodStartMs: number, atMs: number): void {
    this.#posted -= charged;
    if (periodStartMs === this.#periodStartMs) this.#periodUsed += charged;
    const day = utcDay(atMs);
    if (day === this.#day) this.#daySpend += BigInt(charged);
    if (day <= this.#day) return;
    this.#day = day;
    this.#daySpend = BigInt(charged);
  }

  /** Only moves forward, so that setting the clock back does not grant a budget twice. */
  #turnPeriod(nowMs: number): void {
    if (this.key.mode === "credit") return;
    const startMs = periodStart(this.key.period, nowMs);
    if (startMs > this.#periodStartMs) this.#startPeriod(startMs);
  }

  #startPeriod(startMs: number): void {
    this.#periodStartMs = startMs;
    this.#periodUsed = 0;
    this.#held = 0;
  }

  #periodEnd(nowMs: number): number | null {
    return nextPeriodStart(this.key.period, Math.max(nowMs, this.#periodStartMs));
  }

  #refusal(amount: number, balance: number, nowMs: number): Error {
    if (this.key.mode === "credit" || balance > 0) return insufficient(this.key.mode, amount, balance);
    return budgetUsedUp(this.#periodEnd(nowMs), nowMs);
  }
}
