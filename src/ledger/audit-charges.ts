import { msPerDay } from "../base/clock.ts";
import { nextPeriodStart, periodStart, periodStarts } from "../base/money/period.ts";
import { costNano, type Rates, readRates, tokensOf } from "../base/money/rates.ts";
import { count } from "../base/text/plural.ts";
import type {
  AccountRecord,
  AuditedEntry,
  BudgetPeriod,
  LedgerFault,
  ListedEntry,
  Store,
} from "../store/store.ts";

export interface AuditOptions {
  /** Also reports differences that may be harmless, such as a clock that was changed during a call. */
  readonly deep?: boolean;
  /** Stops the audit, with its reason. */
  readonly signal?: AbortSignal;
  /** Called with the progress. */
  report?(text: string): void;
}

const entriesPerChunk = 2_000;
const periodToleranceMs = 7 * msPerDay;
/** Tolerates a clock that is set while a call runs, by up to this. */
const clockToleranceMs = 60_000;

export interface ChargeAudit {
  readonly entries: number;
  readonly faults: readonly LedgerFault[];
}

/**
 * Recomputes every charge from its rates and quantities, and compares it with the amount charged and with the usage
 * record. `deep` also compares the times of a request. `alsoCheck` gets the same entries.
 */
export async function auditCharges(
  store: Store,
  { deep = false, signal, report }: AuditOptions,
  alsoCheck: (entry: ListedEntry) => void = () => {},
): Promise<ChargeAudit> {
  const { accounts } = await store.load();
  const past = Map.groupBy(await store.listPastPeriods(), ({ accountId }) => accountId);
  const audited = accounts.map((account): [string, AuditedAccount] => {
    const before = past.get(account.id)?.map(({ period }) => period) ?? [];
    return [account.id, { ...account, periods: [account.period, ...before] }];
  });
  const checker = new ChargeChecker(new Map(audited), deep);
  let entries = 0;
  for (let afterId = 0; ; ) {
    signal?.throwIfAborted();
    report?.(`${count(entries)} entries checked`);
    const chunk = await store.listEntries({ afterId, limit: entriesPerChunk });
    for (const entry of chunk) {
      checker.add(entry);
      alsoCheck(entry);
    }
    entries += chunk.length;
    const last = chunk.at(-1);
    if (last === undefined) return { entries, faults: checker.finish() };
    afterId = last.id;
  }
}

interface AuditedAccount extends AccountRecord {
  /** The current period of its budget, and its earlier ones. */
  readonly periods: readonly BudgetPeriod[];
}

/** The charges of an exchange so far. A late charge comes after the charge of the takeover. */
interface BookedCharge {
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
  /** Charges not paid in full: an overrun or a late charge has to follow. */
  readonly #open = new Map<string, BookedCharge>();
  /** Charges made by takeovers. A late charge adds to them. */
  readonly #interrupted = new Map<string, BookedCharge>();

  constructor(accounts: ReadonlyMap<string, AuditedAccount>, isDeep: boolean) {
    this.#accounts = accounts;
    this.#isDeep = isDeep;
  }

  add(entry: AuditedEntry): void {
    const account = this.#accounts.get(entry.accountId);
    if (account === undefined) {
      this.#fault(entry, "account", entry.accountId, "none");
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
    // Its charge is older than rates, or there is none: a balance was lowered while a charge was being written.
    if (booked === undefined) return;
    // Below 0, a postpaid account owes it, which counts as paid.
    if (entry.amount < 0) booked.paid -= entry.amount;
    else booked.unpaid += entry.amount;
    this.#settle(booked);
  }

  /** Paid and unpaid must add up to the cost. While they are less, another entry has to follow. */
  #settle(booked: BookedCharge): void {
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

  /** The usage record must show the amount charged, once all entries of the charge are added. */
  #checkRecord({ accountId, costNano, ...entry }: AuditedEntry, paid: number): void {
    if (costNano === null) return;
    const recorded = this.#accounts.get(accountId)?.mode === "credit" ? paid : 0;
    if (costNano !== recorded) this.#fault(entry, "cost_nano", costNano, recorded);
  }

  #takeInterrupted(entry: AuditedEntry): BookedCharge | undefined {
    if (entry.outcome === "interrupted" || entry.exchangeId === null) return undefined;
    const before = this.#interrupted.get(entry.exchangeId);
    this.#interrupted.delete(entry.exchangeId);
    return before;
  }

  /** Null for charges from before rates were recorded. */
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

  /** Not every charge of a token budget has a list cost: it is unknown for interrupted calls. */
  #checkListCost({ listCostNano, ...entry }: AuditedEntry, { mode }: AccountRecord, costs: number): void {
    const expected = mode === "token_budget" ? costs : 0;
    if (listCostNano !== null && listCostNano !== expected) {
      this.#fault(entry, "list_cost_nano", listCostNano, expected);
    }
  }

  /**
   * Checks that a charge's period starts a day, week or month, and not long after the moment that it counts at; 0 means
   * no period. How long it lasts depends on the budget's current or earlier period: after a change from day to month,
   * the period that began that day continues.
   */
  #checkPeriod(entry: AuditedEntry, account: AuditedAccount): void {
    const { periodStartMs: startMs, countedAtMs } = entry;
    if (startMs === 0) return;
    const atMs = countedAtMs ?? entry.atMs;
    const isStart = startMs <= atMs + periodToleranceMs && periodStarts(startMs).includes(startMs);
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
