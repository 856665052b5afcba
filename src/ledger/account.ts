import { assertAmount } from "../base/assert.ts";
import {
  type BoundState,
  type Denial,
  type DeniedBy,
  firstDenial,
  type HeldAmount,
} from "../base/money/bound.ts";
import { type LaterUse, laterUseOf, usedIn } from "../base/money/later-use.ts";
import { maxDebtNano } from "../base/money/money.ts";
import { nextPeriodStart, periodStart } from "../base/money/period.ts";
import type { AccountSums } from "../store/shared-batch.ts";
import type { AccountRecord, AccountTotals, CountedAt, CountedCharge } from "../store/store.ts";
import type { Cap } from "./cap.ts";

export interface SettleResult {
  /** Paid from the balance, or owed by a postpaid account. */
  readonly charged: number;
  /** The part of the cost not charged, because the balance or a cap did not allow it. */
  readonly overrun: number;
}

export interface SettleParts extends SettleResult {
  /**
   * The part of `charged` above the caps of a postpaid account, or above a hold whose period has ended. It gets its own
   * entry.
   */
  readonly owed: number;
  /** The periods that `owed` counts in; absent if they are the hold's. */
  readonly owedAt?: CountedAt;
}

/** The caps that a hold falls under before and after it is replaced. */
export interface ReplacedCaps {
  readonly before: readonly Cap[];
  readonly after: readonly Cap[];
}

/** The part of an account's record that its arithmetic needs. */
export type AccountTerms = Pick<AccountRecord, "mode" | "isPostpaid" | "budgetTokens" | "period">;

/**
 * One account in memory and all arithmetic on it. One or more keys are billed to it. Amounts are nano-credits for a
 * credit account, and tokens for a token budget: its balance is the rest of the budget in the current period, and
 * only holds of that period count against it. `caps` are the caps of the account and the key that apply to a request.
 * All limits are checked before any of them is reserved.
 */
export class Account {
  readonly id: string;
  terms: AccountTerms;
  /** The account's own caps. A key's caps are in its `KeyFunds`. */
  caps: readonly Cap[];
  #posted: number;
  /** A bigint, because lifetime sums may exceed what a double holds exactly. */
  #purchased: bigint;
  #held: number;
  #periodStartMs: number;
  #periodUsed: number;
  #later: readonly LaterUse[];
  #countedAtMs: number;

  constructor(terms: AccountTerms, totals: AccountTotals, held = 0, caps: readonly Cap[] = []) {
    this.id = totals.accountId;
    this.terms = terms;
    this.caps = caps;
    this.#held = held;
    this.#posted = totals.posted;
    this.#purchased = BigInt(totals.purchasedDigits ?? totals.purchased);
    this.#periodStartMs = totals.periodStartMs;
    this.#periodUsed = totals.periodUsed;
    this.#later = laterUseOf(totals.laterUsed);
    this.#countedAtMs = totals.countedAtMs;
  }

  get posted(): number {
    return this.#posted;
  }

  get purchased(): bigint {
    return this.#purchased;
  }

  get held(): number {
    return this.#held;
  }

  get periodUsed(): number {
    return this.#periodUsed;
  }

  get used(): bigint {
    return this.#purchased - BigInt(this.#posted);
  }

  /** The account's stored totals, besides its entries. */
  get sums(): AccountSums {
    return {
      posted: this.#posted,
      held: this.#held,
      usedDigits: String(this.used),
      periodStartMs: this.#periodStartMs,
      periodUsed: this.#periodUsed,
      countedAtMs: this.#countedAtMs,
    };
  }

  /**
   * Reserves the amount under every limit, or returns the limit that denies it. Nothing may be awaited between the
   * check and the reservation.
   */
  hold(amount: number, nowMs: number, caps: readonly Cap[] = []): HeldAmount | DeniedBy {
    assertAmount(amount, "hold");
    const countedAtMs = this.advance(nowMs, caps);
    const denied = this.#deniedBy(amount, caps);
    if (denied !== null) return denied;
    const hold = { amount, periodStartMs: this.#periodStartMs, countedAtMs };
    this.#countedAtMs = countedAtMs;
    this.#held += amount;
    for (const cap of caps) cap.reserve(hold);
    return hold;
  }

  /** Like `hold`, with what the former hold has reserved. If a limit denies it, the former stays. */
  replace(
    former: HeldAmount,
    amount: number,
    nowMs: number,
    { before, after }: ReplacedCaps,
  ): HeldAmount | DeniedBy {
    this.release(former, before);
    const decided = this.hold(amount, nowMs, after);
    if ("denial" in decided) {
      this.reserve(former);
      for (const cap of before) cap.reserve(former);
    }
    return decided;
  }

  release(hold: HeldAmount, caps: readonly Cap[] = []): void {
    if (hold.periodStartMs === this.#periodStartMs) this.#held -= hold.amount;
    for (const cap of caps) cap.release(hold);
  }

  /**
   * Ends the hold and charges the cost, except its `waived` part, up to every limit. A postpaid account also owes the
   * amount above its caps. If the period of a limit has ended since the hold, what that limit still had is no longer
   * known: the amount above the hold is charged like a new request's, in the periods of `nowMs`.
   */
  settle(
    hold: HeldAmount,
    cost: number,
    caps: readonly Cap[] = [],
    waived = 0,
    nowMs = hold.countedAtMs,
  ): SettleParts {
    const payable = cost - waived;
    if (payable <= hold.amount || this.terms.isPostpaid || !this.#hasEnded(hold, caps)) {
      const { charged, owed } = this.#charge(hold, payable, caps);
      return { charged, owed, overrun: cost - charged };
    }
    const own = this.#charge(hold, hold.amount, caps);
    const countedAtMs = this.advance(nowMs, caps);
    const owedAt = { periodStartMs: this.#periodStartMs, countedAtMs };
    const { charged: owed } = this.#charge({ ...owedAt, amount: 0 }, payable - hold.amount, caps);
    const charged = own.charged + owed;
    return { charged, owed, owedAt, overrun: cost - charged };
  }

  /** Whether the budget or a cap has moved on to another period since the hold. */
  #hasEnded(hold: HeldAmount, caps: readonly Cap[]): boolean {
    return hold.periodStartMs !== this.#periodStartMs || caps.some((cap) => !cap.isCurrent(hold));
  }

  #charge(hold: HeldAmount, cost: number, caps: readonly Cap[]): Pick<SettleParts, "charged" | "owed"> {
    const payable = Math.min(cost, this.#affordable(hold));
    let covered = payable;
    for (const cap of caps) covered = Math.min(covered, cap.affordable(hold));
    const charged = this.terms.isPostpaid ? payable : covered;
    this.release(hold, caps);
    this.#posted -= charged;
    if (hold.periodStartMs === this.#periodStartMs) this.#periodUsed += charged;
    if (hold.countedAtMs > this.#countedAtMs) this.#countedAtMs = hold.countedAtMs;
    for (const cap of caps) cap.charge(charged, hold.countedAtMs);
    return { charged, owed: charged - covered };
  }

  /**
   * Charges a hold from before a crash, which has no reservation in memory. Its period may be later than the last
   * charge's.
   */
  settleInterrupted(
    cost: number,
    hold: Pick<HeldAmount, "periodStartMs" | "countedAtMs">,
    caps: readonly Cap[] = [],
    waived = 0,
  ): SettleParts {
    if (hold.periodStartMs > this.#periodStartMs) this.#startPeriod(hold.periodStartMs);
    for (const cap of caps) cap.advance(hold.countedAtMs);
    const { charged, owed } = this.#charge({ ...hold, amount: 0, isLost: true }, cost - waived, caps);
    return { charged, owed, overrun: cost - charged };
  }

  credit(amount: number): void {
    this.#posted += amount;
    this.#purchased += BigInt(amount);
  }

  get countedAtMs(): number {
    return Math.max(this.#countedAtMs, this.#periodStartMs);
  }

  /**
   * Takes the periods from the store; nothing is reserved afterwards. `countCharge` and `reserve` add what the store
   * does not know yet.
   */
  recount({ periodStartMs, periodUsed, laterUsed, countedAtMs }: AccountTotals): void {
    this.#periodStartMs = periodStartMs;
    this.#periodUsed = periodUsed;
    this.#later = laterUseOf(laterUsed);
    this.#countedAtMs = countedAtMs;
    this.#held = 0;
  }

  countCharge({ charged, periodStartMs, countedAtMs }: CountedCharge): void {
    if (periodStartMs > this.#periodStartMs) this.#startPeriod(periodStartMs);
    if (periodStartMs === this.#periodStartMs) this.#periodUsed += charged;
    this.#countedAtMs = Math.max(this.#countedAtMs, countedAtMs);
  }

  reserve({ amount, periodStartMs, countedAtMs }: HeldAmount): void {
    if (periodStartMs > this.#periodStartMs) this.#startPeriod(periodStartMs);
    if (periodStartMs === this.#periodStartMs) this.#held += amount;
    this.#countedAtMs = Math.max(this.#countedAtMs, countedAtMs);
  }

  /** Advances to the current periods. Returns the time at which a hold counts, which never goes back. */
  advance(nowMs: number, caps: readonly Cap[] = []): number {
    let countedAtMs = Math.max(nowMs, this.#countedAtMs);
    for (const cap of caps) countedAtMs = Math.max(countedAtMs, cap.periodStartMs);
    for (const cap of caps) cap.advance(countedAtMs);
    if (this.terms.mode === "credit") return countedAtMs;
    const startMs = periodStart(this.terms.period, countedAtMs);
    if (startMs > this.#periodStartMs) this.#startPeriod(startMs);
    return countedAtMs;
  }

  /**
   * The amount that can still be held here and under these caps; infinite without a limit. The debt limit of a postpaid
   * account does not count: clients do not plan with it.
   */
  remaining(caps: readonly Cap[] = []): number {
    const own = this.terms.isPostpaid ? Number.POSITIVE_INFINITY : Math.max(0, this.#balance() - this.#held);
    return Math.min(own, ...caps.map((cap) => cap.remaining()));
  }

  periodEnd(nowMs: number): number | null {
    return nextPeriodStart(this.terms.period, Math.max(nowMs, this.#periodStartMs));
  }

  #startPeriod(startMs: number): void {
    this.#periodStartMs = startMs;
    this.#periodUsed = usedIn(this.#later, startMs);
    this.#held = 0;
  }

  #balance(): number {
    if (this.terms.isPostpaid) return this.#posted + maxDebtNano;
    if (this.terms.mode === "credit") return this.#posted;
    const { budgetTokens } = this.terms;
    return budgetTokens === null ? Number.POSITIVE_INFINITY : Math.max(0, budgetTokens - this.#periodUsed);
  }

  #deniedBy(amount: number, caps: readonly Cap[]): DeniedBy | null {
    const denial = this.#denies(amount);
    let first: DeniedBy | null = denial === null ? null : { denial, state: this.#state() };
    let isFinal = denial !== null;
    for (const cap of caps) {
      const denial = cap.denies(amount);
      if (denial === null) continue;
      const state = cap.state();
      if (state.stepDown === undefined) isFinal = true;
      first = firstDenial(first, { denial, state });
    }
    return first !== null && isFinal ? withoutStepDown(first) : first;
  }

  #denies(amount: number): Denial | null {
    const balance = this.#balance();
    if (balance < amount) return this.terms.mode === "credit" || balance > 0 ? "too_little" : "used_up";
    return balance - this.#held < amount ? "reserved" : null;
  }

  #state(): BoundState {
    const { mode, budgetTokens, period } = this.terms;
    const isCredit = mode === "credit";
    return {
      bound: isCredit ? "balance" : "budget",
      isPostpaid: this.terms.isPostpaid,
      period: isCredit || period === "none" ? null : period,
      models: null,
      limit: isCredit ? null : budgetTokens,
      used: isCredit ? Number(this.used) : this.#periodUsed,
      held: this.#held,
      left: this.#balance(),
      resetsAtMs: isCredit ? null : nextPeriodStart(period, this.#periodStartMs),
    };
  }

  /**
   * The maximum that settling this hold can charge: its own amount plus what no other hold has reserved. If an
   * operator has lowered the balance below the reserved amount, the balance is the limit.
   */
  #affordable(hold: HeldAmount): number {
    const balance = this.#balance();
    if (this.terms.mode === "token_budget") {
      // The rest of a past period is no longer known, but it covered this hold.
      if (hold.periodStartMs !== this.#periodStartMs) {
        return hold.isLost ? Number.POSITIVE_INFINITY : hold.amount;
      }
      return hold.amount + Math.max(0, balance - this.#held);
    }
    return Math.max(0, Math.min(balance, hold.amount + Math.max(0, balance - this.#held)));
  }
}

/** The error without the step-down, if another limit also denies the hold and rejects the request. */
function withoutStepDown({ denial, state: { stepDown: _, ...state } }: DeniedBy): DeniedBy {
  return { denial, state };
}
