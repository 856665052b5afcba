import { msPerDay } from "../base/clock.ts";
import { nextPeriodStart, periodStart } from "../base/money/period.ts";
import { costNano, type Rates, readRates, tokensOf } from "../base/money/rates.ts";
import type { AccountRecord, AuditedEntry, BudgetPeriod, LedgerFault, Store } from "../store/store.ts";

const entriesPerChunk = 2_000;
const periodToleranceMs = 7 * msPerDay;
/** A clock may be set while a call runs, by less than this. */
const clockToleranceMs = 60_000;

export interface ChargeAudit {
  readonly entries: number;
  readonly faults: readonly LedgerFault[];
}

/**
 * Computes every charge anew from its rates and quantities, as it was made, and compares it with what was charged and
 * what the usage record says. `deep` also holds the times of an exchange against each other.
 */
export async function auditCharges(store: Store, isDeep: boolean): Promise<ChargeAudit> {
  const { accounts } = await store.load();
  const past = Map.groupBy(await store.listPastPeriods(), ({ accountId }) => accountId);
  const audited = accounts.map((account): [string, AuditedAccount] => {
    const before = past.get(account.id)?.map(({ period }) => period) ?? [];
    return [account.id, { ...account, periods: [account.period, ...before] }];
  });
  const checker = new ChargeChecker(new Map(audited), isDeep);
  let entries = 0;
  for (let afterId = 0; ; ) {
    const chunk = await store.listEntries({ afterId, limit: entriesPerChunk });
    for (const entry of chunk) checker.add(entry);
    entries += chunk.length;
    const last = chunk.at(-1);
    if (last === undefined) return { entries, faults: checker.finish() };
    afterId = last.id;
  }
}

interface AuditedAccount extends AccountRecord {
  /** That its budget has now, and those that it had before. */
  readonly periods: readonly BudgetPeriod[];
}

/** What an exchange was charged so far. A charge that was made late comes after that of the takeover. */
interface Booked {
  readonly entry: AuditedEntry;
  readonly cost: number;
  paid: number;
  unpaid: number;
}

class ChargeChecker {
  readonly #accounts: ReadonlyMap<string, AuditedAccount>;
  readonly #isDeep: boolean;
  readonly #faults: LedgerFault[] = [];
  readonly #rates = new Map<string, Rates>();
  /** Charges that were not paid in full: an overrun, or a late charge, has to follow. */
  readonly #open = new Map<string, Booked>();
  /** What takeovers have charged: a late charge adds to it. */
  readonly #interrupted = new Map<string, Booked>();

  constructor(accounts: ReadonlyMap<string, AuditedAccount>, isDeep: boolean) {
    this.#accounts = accounts;
    this.#isDeep = isDeep;
  }

  add(entry: AuditedEntry): void {
    const account = this.#accounts.get(entry.accountId);
    if (account === undefined) {
      this.#fault(entry, "account", entry.accountId, "no such account");
      return;
    }
    this.#checkPeriod(entry, account);
    if (entry.kind === "overrun") this.#addOverrun(entry);
    if (entry.kind !== "charge") return;
    this.#addCharge(entry, account);
    if (this.#isDeep) this.#checkTime(entry);
  }

  finish(): readonly LedgerFault[] {
    for (const booked of this.#open.values()) {
      const { entry, cost, paid, unpaid } = booked;
      this.#checkRecord(entry, paid);
      this.#fault(entry, "amount", paid + unpaid, cost);
    }
    return this.#faults;
  }

  #addCharge(entry: AuditedEntry, account: AccountRecord): void {
    const before = this.#takeInterrupted(entry);
    const paid = -entry.amount + (before?.paid ?? 0);
    const rates = this.#ratesOf(entry);
    if (rates === null || entry.quantities === null) {
      this.#checkRecord(entry, paid);
      return;
    }
    const costs = costNano(rates, entry.quantities);
    const cost = account.mode === "credit" ? costs : tokensOf(entry.quantities);
    const booked = { entry, cost, paid, unpaid: before?.unpaid ?? 0 };
    if (entry.outcome === "interrupted" && entry.exchangeId !== null) {
      this.#interrupted.set(entry.exchangeId, booked);
    }
    this.#settle(booked);
    this.#checkListCost(entry, account, costs);
  }

  #addOverrun(entry: AuditedEntry): void {
    const booked = this.#open.get(entry.exchangeId ?? "");
    // It belongs to a charge that is older than rates, or to none: a balance was lowered while a charge was on its way.
    if (booked === undefined) return;
    // Below 0 a postpaid account owes it, which is as good as paid.
    if (entry.amount < 0) booked.paid -= entry.amount;
    else booked.unpaid += entry.amount;
    this.#settle(booked);
  }

  /** What is paid and what is not must be the cost; as long as it is less, something has to follow. */
  #settle(booked: Booked): void {
    const { entry, cost, paid, unpaid } = booked;
    const exchangeId = entry.exchangeId ?? `entry ${entry.id}`;
    this.#open.delete(exchangeId);
    if (paid + unpaid < cost) {
      this.#open.set(exchangeId, booked);
      return;
    }
    this.#checkRecord(entry, paid);
    if (paid + unpaid > cost) this.#fault(entry, "amount", paid + unpaid, cost);
  }

  /** The usage record says what was charged, once everything that belongs to the charge has been added. */
  #checkRecord({ accountId, costNano, ...entry }: AuditedEntry, paid: number): void {
    if (costNano === null) return;
    const recorded = this.#accounts.get(accountId)?.mode === "credit" ? paid : 0;
    if (costNano !== recorded) this.#fault(entry, "cost_nano", costNano, recorded);
  }

  #takeInterrupted(entry: AuditedEntry): Booked | undefined {
    if (entry.outcome === "interrupted" || entry.exchangeId === null) return undefined;
    const before = this.#interrupted.get(entry.exchangeId);
    this.#interrupted.delete(entry.exchangeId);
    return before;
  }

  /** Null for charges that are older than rates. */
  #ratesOf({ rates: text, ratesId, ...entry }: AuditedEntry): Rates | null {
    if (ratesId === null) return null;
    const known = text === null ? undefined : (this.#rates.get(text) ?? readRates(text));
    if (known === undefined || text === null || known.id !== ratesId) {
      this.#fault(entry, "rates", ratesId, known?.id ?? "none");
      return null;
    }
    this.#rates.set(text, known);
    return known;
  }

  /** Not every charge of a token budget has one: an interrupted call's is not known. */
  #checkListCost({ listCostNano, ...entry }: AuditedEntry, { mode }: AccountRecord, costs: number): void {
    const expected = mode === "token_budget" ? costs : 0;
    if (listCostNano !== null && listCostNano !== expected) {
      this.#fault(entry, "list_cost_nano", listCostNano, expected);
    }
  }

  /**
   * The start of a day, a week or a month, not long after the charge; 0 for what counts in none. A clock that is set back leaves a
   * budget in the period that it had reached. Whichever period the budget has, or had, decides how long that lasts: one that
   * is changed from a day to a month goes on with what began that day.
   */
  #checkPeriod(entry: AuditedEntry, account: AuditedAccount): void {
    const { periodStartMs: startMs, atMs } = entry;
    if (startMs === 0) return;
    const isStart =
      startMs <= atMs + periodToleranceMs &&
      (["day", "week", "month"] as const).some((period) => periodStart(period, startMs) === startMs);
    const hasTime =
      entry.outcome === "interrupted" ||
      account.periods.some((period) => atMs < endOf(period, startMs) + periodToleranceMs);
    if (account.mode === "token_budget" && isStart && hasTime) return;
    const expected = account.mode === "credit" ? 0 : periodStart(account.period, atMs);
    this.#fault(entry, "period_start_ms", startMs, expected);
  }

  #checkTime(entry: AuditedEntry): void {
    const { atMs, startedAtMs, totalMs } = entry;
    if (startedAtMs === null || totalMs === null) return;
    const expected = startedAtMs + totalMs;
    if (Math.abs(atMs - expected) > clockToleranceMs) this.#fault(entry, "at_ms", atMs, expected);
  }

  #fault(
    { id, keyId }: Pick<AuditedEntry, "id" | "keyId">,
    field: string,
    kept: number | string,
    recomputed: number | string,
  ): void {
    this.#faults.push({ keyId, where: `entry ${id}`, field, kept, recomputed });
  }
}

/** Infinite for a period that never ends. */
function endOf(period: BudgetPeriod, startMs: number): number {
  return nextPeriodStart(period, startMs) ?? Number.POSITIVE_INFINITY;
}
