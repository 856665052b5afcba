import { utcDay } from "../base/clock.ts";
import type { BoundState, DeniedBy, HeldAmount } from "../base/money/bound.ts";
import { type LaterUse, laterUseOf } from "../base/money/later-use.ts";
import { totalInput } from "../base/usage/usage.ts";
import type { DeniedVerdict } from "../store/node.ts";
import type { KeyFundsSums } from "../store/shared-batch.ts";
import type { KeyMode, KeyRecord, KeyTotals, UsageRecord } from "../store/store.ts";
import type { Account } from "./account.ts";
import { type Cap, countedModels, type LabelledItem } from "./cap.ts";
import { ValueCaps } from "./value-caps.ts";

const noCaps: readonly Cap[] = [];
const noValueCaps = new ValueCaps();

/** The part of a key's record that is needed here. */
type KeyTerms = Pick<KeyRecord, "id" | "maxConcurrent">;

interface WantedHold extends LabelledItem {
  readonly amount: number;
  readonly isInFlight?: boolean;
}

/** A key in memory with its account, its caps and its own totals. */
export class KeyFunds {
  key: KeyTerms;
  account: Account;
  caps: readonly Cap[];
  /** The key's open holds. */
  openHolds = 0;
  #day: number;
  #daySpend: bigint;
  #later: readonly LaterUse[];
  #spent: bigint;
  #requests: number;
  #inputTokens: number;
  #outputTokens: number;
  #lastCostNano: number;

  readonly #valueCaps: ValueCaps;

  constructor(
    key: KeyTerms,
    account: Account,
    totals: KeyTotals,
    caps: readonly Cap[] = noCaps,
    valueCaps = noValueCaps,
  ) {
    this.#valueCaps = valueCaps;
    this.key = key;
    this.account = account;
    this.caps = caps;
    this.#day = totals.day;
    this.#daySpend = BigInt(totals.daySpendDigits ?? totals.daySpend);
    this.#later = laterUseOf(totals.laterSpend);
    this.#spent = BigInt(totals.spentDigits ?? totals.spent);
    this.#requests = totals.requests;
    this.#inputTokens = totals.inputTokens;
    this.#outputTokens = totals.outputTokens;
    this.#lastCostNano = totals.lastCostNano;
  }

  /**
   * The caps that a hold or a charge counts in, in the order in which they are named if several deny it alike. `account` is the
   * one that is billed: the key may have moved since.
   */
  capsFor({ model, labels }: LabelledItem, account: Account): readonly Cap[] {
    const { id: accountId, caps, terms } = account;
    if (caps.length === 0 && this.caps.length === 0 && this.#valueCaps.isEmpty) return noCaps;
    const models = countedModels({ model, labels });
    const byValue = this.#valueCaps.capsFor({ model, labels, keyId: this.key.id, accountId }, terms.mode);
    const covers = (cap: Cap) => cap.covers(models);
    return [...this.caps.filter(covers), ...byValue, ...caps.filter(covers)];
  }

  /** Reserves the amount under every limit of the key and of the account that is billed, or returns why it cannot. */
  hold(request: WantedHold, account: Account, nowMs: number): HeldAmount | DeniedVerdict {
    if (request.isInFlight !== false && this.isFull) return { decision: "too_many" };
    const label = this.#missingLabel(request, account);
    if (label !== null) return { decision: "label_required", label };
    return decisionOf(account.hold(request.amount, nowMs, this.capsFor(request, account)));
  }

  /** Like `hold`, with what the former hold has reserved. If it is denied, the former stays. */
  replace(
    former: LabelledItem & HeldAmount,
    by: WantedHold,
    account: Account,
    nowMs: number,
  ): HeldAmount | DeniedVerdict {
    const label = this.#missingLabel(by, account);
    if (label !== null) return { decision: "label_required", label };
    const caps = { before: this.capsFor(former, account), after: this.capsFor(by, account) };
    return decisionOf(account.replace(former, by.amount, nowMs, caps));
  }

  /** A label that the request needs and lacks, because a cap counts each of its values; null if there is none. */
  #missingLabel({ model, labels }: LabelledItem, { id: accountId, terms }: Account): string | null {
    return this.#valueCaps.missingLabel({ model, labels, keyId: this.key.id, accountId }, terms.mode);
  }

  /** Whether the key has reached its limit of concurrent requests. */
  get isFull(): boolean {
    const { maxConcurrent } = this.key;
    return maxConcurrent !== null && this.openHolds >= maxConcurrent;
  }

  /** The key's stored totals. */
  get sums(): KeyFundsSums {
    return {
      day: this.#day,
      daySpendDigits: String(this.#daySpend),
      spentDigits: String(this.#spent),
      requests: this.#requests,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      lastCostNano: this.#lastCostNano,
    };
  }

  get day(): number {
    return this.#day;
  }

  /** Updates the same sums as the store. */
  charge(charged: number, atMs: number): void {
    this.#spent += BigInt(charged);
    this.countToday(charged, atMs);
  }

  /** Takes the latest day's spend from the store. `countToday` adds what the store does not know yet. */
  recountDay({ day, daySpend, daySpendDigits, laterSpend }: KeyTotals): void {
    this.#day = day;
    this.#later = laterUseOf(laterSpend);
    this.#daySpend = BigInt(daySpendDigits ?? daySpend);
  }

  /** Ignores charges of earlier days. */
  countToday(charged: number, atMs: number): void {
    const day = utcDay(atMs);
    if (day === this.#day) this.#daySpend += BigInt(charged);
    if (day <= this.#day) return;
    this.#daySpend = this.#spendOn(day) + BigInt(charged);
    this.#day = day;
  }

  count(record: UsageRecord): void {
    this.#requests += 1;
    this.#inputTokens += totalInput(record.usage);
    this.#outputTokens += record.usage.outputTokens;
    this.#lastCostNano = record.costNano;
  }

  summary(nowMs: number): AccountSummary {
    const { account } = this;
    const { mode, isPostpaid, budgetTokens } = account.terms;
    const caps = [...account.caps, ...this.caps];
    const countedAtMs = account.advance(nowMs);
    const remaining = account.remaining();
    const isCredit = mode === "credit";
    const exact = this.#exactSums(nowMs);
    return {
      mode,
      isPostpaid,
      caps: caps.map((cap) => cap.state(countedAtMs)),
      posted: isCredit ? account.posted : 0,
      held: isCredit ? account.held : 0,
      available: isCredit ? remaining : 0,
      purchased: Number(exact.purchased),
      used: Number(exact.used),
      todaySpend: Number(exact.todaySpend),
      lifetimeSpend: Number(exact.lifetimeSpend),
      lastCostNano: this.#lastCostNano,
      requests: this.#requests,
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      totalTokens: this.#inputTokens + this.#outputTokens,
      budgetTokens: isCredit ? null : budgetTokens,
      budgetUsed: isCredit ? 0 : account.periodUsed,
      budgetHeld: isCredit ? 0 : account.held,
      budgetRemaining: isCredit || budgetTokens === null ? null : remaining,
      periodEndsMs: isCredit ? null : account.periodEnd(nowMs),
      exact,
    };
  }

  #exactSums(nowMs: number): AccountSummary["exact"] {
    const { purchased, used, terms } = this.account;
    if (terms.mode !== "credit") return { purchased, used: 0n, todaySpend: 0n, lifetimeSpend: 0n };
    const today = Math.max(this.#day, utcDay(nowMs));
    return { purchased, used, todaySpend: this.#spendOn(today), lifetimeSpend: this.#spent };
  }

  #spendOn(day: number): bigint {
    if (day === this.#day) return this.#daySpend;
    return BigInt(this.#later.find(({ at }) => at === day)?.used ?? 0);
  }
}

function decisionOf(decided: HeldAmount | DeniedBy): HeldAmount | DeniedVerdict {
  return "denial" in decided ? { decision: decided.denial, state: decided.state } : decided;
}

/**
 * A key's current numbers. Balance, purchases and holds belong to its account; today's and lifetime spend, the last cost,
 * requests and tokens to the key itself. Numbers that the key's mode does not have are 0, or null where null means "no limit".
 */
export interface AccountSummary {
  readonly mode: KeyMode;
  /** Postpaid: `posted` can be below 0, and `available` is infinite. */
  readonly isPostpaid: boolean;
  /** The account's caps, then the key's own. */
  readonly caps: readonly BoundState[];
  /** In nano-credits and 0 for token-budget keys, up to `lastCostNano`. */
  readonly posted: number;
  readonly held: number;
  readonly available: number;
  readonly purchased: number;
  readonly used: number;
  readonly todaySpend: number;
  readonly lifetimeSpend: number;
  readonly lastCostNano: number;
  /** From usage records. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Tokens of the current period. Only token-budget keys have these. */
  readonly budgetTokens: number | null;
  readonly budgetUsed: number;
  readonly budgetHeld: number;
  readonly budgetRemaining: number | null;
  readonly periodEndsMs: number | null;
  /** Sums that may exceed what a double holds exactly; the fields of the same names above are rounded. */
  readonly exact: {
    readonly purchased: bigint;
    readonly used: bigint;
    readonly todaySpend: bigint;
    readonly lifetimeSpend: bigint;
  };
}
