import { utcDay } from "../base/clock.ts";
import {
  type AttemptCount,
  AttemptTally,
  type AttemptTotals,
  attemptTotalNames,
} from "../store/attempt-sums.ts";
import type { HeldVerdict, HoldOrder, HoldVerdict, UnusableKey } from "../store/node.ts";
import {
  type BatchDecision,
  type BookedCharge,
  type EarlierEntry,
  type EndCharge,
  type EndedHold,
  type EndResult,
  type LockedHold,
  type LockedKey,
  type LockedRows,
  type MoneyRules,
  type OpenedHold,
  superseded,
} from "../store/shared-batch.ts";
import { heldFor } from "../store/store.ts";
import { quantitiesOf } from "../store/written-rows.ts";
import type { Account, SettleParts } from "./account.ts";
import { BatchFunds } from "./batch-funds.ts";
import { settleItem } from "./hold.ts";
import { interruptedAttempt, interruption } from "./recover.ts";

/** Decides about holds and charges of a database that several gateways share, with the classes of the ledger in memory. */
export const moneyRules: MoneyRules = {
  decide: (rows, ends, orders) => new Batch(rows).decide(ends, orders),
  interrupt: interruption,
};

const nothingCharged: EndResult = { charged: 0, overrun: 0 };

/** Where a hold is charged. If it has a row, the row is right: the node may not know of a clock that was set back. */
type Place = Pick<LockedHold, "accountNo" | "openedAtMs" | "periodStartMs" | "countedAtMs">;

interface ChargedEnd {
  readonly id: string;
  readonly keyId: string;
  readonly charge: EndCharge;
  readonly place: Place;
}

interface LateCharge {
  /** The entry of the takeover's charge; null if it made none. */
  readonly completes: number | null;
  /** The amount that it has charged. */
  readonly paid: number;
}

class Batch {
  readonly #rows: LockedRows;
  readonly #funds: BatchFunds;
  /** The open holds among those that end. */
  readonly #holds: Map<string, LockedHold>;
  readonly #ended: string[] = [];
  readonly #opened: OpenedHold[] = [];
  readonly #charges: BookedCharge[] = [];
  readonly #attempts = new AttemptTally();

  constructor(rows: LockedRows) {
    this.#rows = rows;
    this.#funds = new BatchFunds(rows);
    this.#holds = new Map(rows.holds.map((hold) => [hold.id, hold]));
  }

  decide(ends: readonly EndedHold[], orders: readonly HoldOrder[]): BatchDecision {
    const charges = ends.map((end) => this.#end(end));
    const verdicts = orders.map((order) => this.#open(order));
    return {
      reply: { charges, verdicts },
      ...this.#funds.changes(),
      ended: this.#ended,
      opened: this.#opened,
      charges: this.#charges,
      attempts: this.#attempts.take(),
    };
  }

  #end({ id, key: keyId, charge }: EndedHold): EndResult {
    const hold = this.#holds.get(id);
    if (hold === undefined) return charge === null ? nothingCharged : this.#chargeLate(id, keyId, charge);
    this.#holds.delete(id);
    this.#ended.push(id);
    const account = this.#funds.account(hold.accountNo);
    const funds = this.#funds.key(keyId, account);
    if (hold.isInFlight) funds.openHolds -= 1;
    const caps = funds.capsFor(hold, account);
    if (charge === null) {
      account.release(hold, caps);
      return nothingCharged;
    }
    const nowMs = this.#rows.nowMs ?? charge.atMs;
    const settled = account.settle(hold, charge.cost, caps, charge.waived, nowMs);
    this.#book({ id, keyId, charge, place: hold }, settled);
    this.#count(charge);
    return { charged: settled.charged, overrun: settled.overrun };
  }

  /**
   * The hold has ended without this charge, because the node was taken over before the charge was acknowledged: the
   * difference from the takeover's charge is charged now. If another exchange has claimed the Idempotency-Key
   * meanwhile, that charge stays, and nothing more is charged.
   */
  #chargeLate(id: string, keyId: string, charge: EndCharge): EndResult {
    const entries = this.#rows.entries.filter(({ exchangeId }) => exchangeId === id);
    const { paid, unpaid, first, isFinal } = sumsOf(entries);
    const rest = charge.cost - paid - unpaid;
    if (!isFinal && this.#rows.superseded.includes(id)) return superseded;
    if (isFinal || rest <= 0) return { charged: paid, overrun: unpaid };
    const account = this.#funds.account(charge.accountNo);
    const place = this.#presentOf(charge, account);
    const caps = this.#funds.key(keyId, account).capsFor(charge, account);
    const settled = account.settleInterrupted(rest, place, caps, Math.min(rest, charge.waived ?? 0));
    const late = { completes: first?.id ?? null, paid };
    this.#book({ id, keyId, charge, place }, settled, late);
    this.#count(charge);
    if (first !== undefined) this.#takeBack(first, charge);
    return { charged: paid + settled.charged, overrun: unpaid + settled.overrun };
  }

  /** The node does not know of a clock that was set back since. */
  #presentOf(
    { accountNo, openedAtMs, periodStartMs, countedAtMs, atMs }: EndCharge,
    account: Account,
  ): Place {
    const nowMs = this.#rows.nowMs ?? atMs;
    return {
      accountNo,
      openedAtMs,
      periodStartMs: Math.min(periodStartMs, account.sums.periodStartMs),
      countedAtMs: Math.min(countedAtMs, Math.max(account.sums.countedAtMs, nowMs)),
    };
  }

  #book({ id, keyId, charge, place }: ChargedEnd, settled: SettleParts, late?: LateCharge): void {
    const { accountNo, openedAtMs, periodStartMs, countedAtMs } = place;
    const { atMs } = charge;
    const account = this.#funds.account(accountNo);
    const funds = this.#funds.key(keyId, account);
    funds.charge(settled.charged, atMs);
    const costNano = account.terms.mode === "credit" ? (late?.paid ?? 0) + settled.charged : 0;
    const record = charge.record && { ...charge.record, costNano };
    if (record !== null) funds.count(record);
    const held = heldFor({ ...charge, keyId, accountId: account.id, periodStartMs, countedAtMs });
    const item = settleItem({ holdId: id, hasRow: true, held, atMs, record }, charge, settled);
    this.#charges.push({ item, keyNo: this.#funds.keyRow(keyId).no, accountNo, openedAtMs, late });
  }

  #count({ attempts = [], atMs }: EndCharge): void {
    for (const attempt of attempts) this.#attempts.add(utcDay(atMs), attempt);
  }

  /** Takes back the amounts that the takeover counted in place of these attempts. */
  #takeBack({ atMs, quantities, ratesId, rates }: EarlierEntry, { attempts = [] }: EndCharge): void {
    const served = attempts.find(({ outcome }) => outcome !== "uncharged");
    if (served === undefined) return;
    const counted = interruptedAttempt(served, {
      quantities: quantitiesOf(quantities, null),
      rates: ratesId === null || rates === null ? null : { id: ratesId, text: rates },
    });
    this.#attempts.add(utcDay(atMs), negated(counted));
  }

  #open(order: HoldOrder): HoldVerdict {
    if (order.replaces === true) return this.#replace(order);
    const { keyId } = order;
    const row = this.#funds.findKey(keyId);
    if (row === undefined) return { decision: "unknown_key" };
    const { accountNo, maxConcurrent } = row;
    const openedAtMs = this.#rows.nowMs ?? order.nowMs;
    const account = this.#funds.account(accountNo);
    const funds = this.#funds.key(keyId, account);
    const unusable = unusableFor(row, this.#funds.accountRow(accountNo).isClosed, openedAtMs);
    if (unusable !== null) return { decision: unusable };
    const held = funds.hold(order, account, openedAtMs);
    if ("decision" in held) return held;
    const isInFlight = order.isInFlight !== false && maxConcurrent !== null;
    if (isInFlight) funds.openHolds += 1;
    const { periodStartMs, countedAtMs } = held;
    return this.#granted(order, isInFlight, { accountNo, periodStartMs, countedAtMs, openedAtMs });
  }

  /** The hold stays where it is billed, even if the key has moved or cannot be used any more: it is one request. */
  #replace(order: HoldOrder): HoldVerdict {
    const { holdId: id, keyId } = order;
    const former = this.#holds.get(id);
    if (former === undefined) return { decision: "gone" };
    const { accountNo, isInFlight } = former;
    const account = this.#funds.account(accountNo);
    const funds = this.#funds.key(keyId, account);
    const openedAtMs = this.#rows.nowMs ?? order.nowMs;
    const held = funds.replace(former, order, account, openedAtMs);
    if ("decision" in held) return held;
    this.#ended.push(id);
    const { periodStartMs, countedAtMs } = held;
    return this.#granted(order, isInFlight, { accountNo, periodStartMs, countedAtMs, openedAtMs });
  }

  #granted(order: HoldOrder, isInFlight: boolean, place: Place): HeldVerdict {
    const { holdId: id, keyId, amount, model, requestedModel, labels } = order;
    const { no: keyNo } = this.#funds.keyRow(keyId);
    const opened = { id, keyNo, amount, model, requestedModel, labels, isInFlight, ...place };
    this.#opened.push(opened);
    if (order.replaces === true) this.#holds.set(id, opened);
    const account = this.#funds.account(place.accountNo);
    const remaining = account.remaining(this.#funds.key(keyId, account).capsFor(order, account));
    return { decision: "held", remaining, ...place };
  }
}

function unusableFor(
  { status, expiresAtMs }: LockedKey,
  isClosed: boolean,
  nowMs: number,
): UnusableKey | null {
  if (status !== "active") return status;
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return "expired";
  return isClosed ? "closed" : null;
}

/** The earlier charges of an exchange, and whether its own charge is among them. */
function sumsOf(entries: readonly EarlierEntry[]) {
  let [paid, unpaid, isFinal] = [0, 0, false];
  let first: EarlierEntry | undefined;
  for (const entry of entries) {
    const isCharge = entry.kind === "charge";
    if (isCharge) first ??= entry;
    if (isCharge && entry.outcome !== "interrupted") isFinal = true;
    if (isCharge || entry.amount < 0) paid -= entry.amount;
    else unpaid += entry.amount;
  }
  return { paid, unpaid, isFinal, first };
}

function negated(count: AttemptCount): AttemptCount {
  // Safe cast: the keys are exactly the listed names.
  const totals = Object.fromEntries(
    attemptTotalNames.map((name) => [name, 0 - count[name]]),
  ) as AttemptTotals;
  return { ...count, ...totals };
}
