import { assert, assertAmount } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import {
  type AccountState,
  type CapState,
  type HeldVerdict,
  type HoldOrder,
  NodeUnavailable,
  type StoreNode,
} from "../store/node.ts";
import type { Changes, KeyRecord, ParkedHold, PricedCharge, Store, ValueCapRecord } from "../store/store.ts";
import { Account } from "./account.ts";
import type {
  AccountSummary,
  Accounts,
  HeldSums,
  HoldRequest,
  ReplacedHold,
  Settlement,
  SettleResult,
} from "./accounts.ts";
import { Cap } from "./cap.ts";
import { Hold } from "./hold.ts";
import { chargeUncertain, holdError, journalUnavailable } from "./hold-errors.ts";
import { KeyFunds } from "./key-funds.ts";
import { ProgressNotes } from "./progress.ts";
import { ValueCaps } from "./value-caps.ts";

export interface SharedAccountsOptions {
  readonly node: Pick<
    StoreNode,
    "problem" | "clockOffsetMs" | "hold" | "progress" | "settle" | "release" | "readAccounts"
  >;
  readonly clock: Clock;
  readonly keys: readonly KeyRecord[];
  readonly valueCaps: readonly ValueCapRecord[];
  /** Other queued writes, which must be durable before a charge's response is sent. */
  readonly written?: Store["written"];
  /** Interval for journaling progress. */
  readonly progressTickMs?: number;
}

/** A hold with its account's number, and the amount that remained in the account when it was granted. */
class SharedHold extends Hold {
  accountNo: number;
  remainingThen: number;

  constructor(
    parts: ConstructorParameters<typeof Hold>[0],
    { accountNo, remaining }: Pick<HeldVerdict, "accountNo" | "remaining">,
  ) {
    super(parts);
    this.accountNo = accountNo;
    this.remainingThen = remaining;
  }
}

/**
 * The accounts of a database that several gateways share. Every hold and every charge is decided under the database's locks; this
 * process only knows its own open holds.
 */
export class SharedAccounts implements Accounts {
  readonly #node: SharedAccountsOptions["node"];
  readonly #clock: Clock;
  readonly #keys = new Map<string, KeyRecord>();
  /** The totals are in the database; these only define which labels the caps count. */
  readonly #valueCaps = new ValueCaps();
  readonly #progress: ProgressNotes;
  readonly #written: Store["written"];
  readonly #held = { nano: 0, tokens: 0 };
  /** Keys whose last hold was granted, and whose last charge left something: for others, asking the database early is worth a round trip. */
  readonly #paying = new Set<string>();
  readonly overrun = { nano: 0, tokens: 0 };
  #openHolds = 0;

  constructor(options: SharedAccountsOptions) {
    const { node, clock, keys, written = () => null, progressTickMs: tickMs } = options;
    this.#node = node;
    this.#written = written;
    this.#clock = clock;
    this.#know(keys);
    this.#valueCaps.set(options.valueCaps, []);
    this.#progress = new ProgressNotes({
      tickMs,
      journal: (holds) => {
        for (const { id, soFar } of holds) if (soFar !== null) node.progress(id, soFar);
      },
    });
  }

  get openHolds(): number {
    return this.#openHolds;
  }

  async hold(request: HoldRequest): Promise<Hold> {
    const { exchangeId: holdId, ...asked } = request;
    const key = this.#key(asked.keyId);
    const verdict = await this.#order({ holdId, ...asked });
    const { periodStartMs, countedAtMs, openedAtMs } = verdict;
    this.#openHolds += 1;
    this.#held[unitOf(key)] += asked.amount;
    const { accountId } = key;
    const parts = { ...request, accountId, openedAtMs, periodStartMs, countedAtMs };
    return new SharedHold(parts, verdict);
  }

  async replace(hold: Hold, by: ReplacedHold): Promise<void> {
    assert(hold instanceof SharedHold && hold.state === "open", "only an open hold is replaced");
    const { id: holdId, keyId, accountId, amount: before } = hold;
    const verdict = await this.#order({ holdId, keyId, ...by, replaces: true });
    const { periodStartMs, countedAtMs, openedAtMs, accountNo, remaining } = verdict;
    // It may have ended meanwhile, and then its end was sent after this.
    if (hold.state !== "open") return;
    this.#held[unitOf(this.#key(keyId))] += by.amount - before;
    hold.replaceBy({ ...by, accountId, openedAtMs, periodStartMs, countedAtMs });
    hold.accountNo = accountNo;
    hold.remainingThen = remaining;
  }

  async #order(asked: Omit<HoldOrder, "nowMs">): Promise<HeldVerdict> {
    const { amount, keyId } = asked;
    assertAmount(amount, "hold");
    if (this.#node.problem !== null) throw journalUnavailable();
    const nowMs = this.#clock.wallMs();
    const verdict = await this.#node.hold({ ...asked, nowMs }).catch(asGatewayError);
    if (verdict.decision === "held") {
      this.#paying.add(keyId);
      return verdict;
    }
    this.#paying.delete(keyId);
    throw holdError(verdict, this.#key(keyId), amount, nowMs);
  }

  progress(hold: Hold, soFar: PricedCharge): void {
    this.#progress.take(hold, soFar);
  }

  async settle(hold: Hold, settlement: Settlement): Promise<SettleResult | null> {
    // Checked before the hold ends, so that it can still be released if the cost is invalid.
    assertAmount(settlement.cost, "cost");
    assert(hold instanceof SharedHold, "a hold of these accounts");
    if (!this.#end(hold, "settled")) return null;
    const { record, outcomeRecord } = settlement;
    const atMs = this.#clock.wallMs() + this.#node.clockOffsetMs;
    const written = this.#written();
    // A turn without all its parts would not replace the stored conversation, so they are written first.
    if (settlement.turns?.some(({ replaces, recording }) => replaces && recording)) await written;
    const settled = await this.#node
      .settle({
        ...settlement,
        ...hold.terms,
        holdId: hold.id,
        accountNo: hold.accountNo,
        openedAtMs: hold.openedAtMs,
        atMs,
        outcomeRecord: outcomeRecord && { ...outcomeRecord, atMs },
      })
      .catch((error: unknown): never => {
        throw error instanceof NodeUnavailable ? chargeUncertain("service_unavailable", error) : error;
      });
    if (written !== null) await written;
    hold.charged = settled.charged;
    if (this.remaining(hold) === 0) this.#paying.delete(hold.keyId);
    this.overrun[unitOf(this.#key(hold.keyId))] += settled.overrun;
    if (record !== null) record.costNano = this.#key(hold.keyId).mode === "credit" ? settled.charged : 0;
    return settled;
  }

  release(hold: Hold): boolean {
    if (hold.isParked || !this.#end(hold, "released")) return false;
    // If this takes long, it is done later.
    this.#node.release(hold.id, hold.keyId).catch(() => {});
    return true;
  }

  parked(hold: Hold): void {
    hold.isParked = true;
    this.#leave(hold);
  }

  /** It is open in this process until it is settled, or parked again. */
  adopt(parked: ParkedHold): Hold {
    const { holdId: exchangeId, accountNo } = parked;
    const hold = new SharedHold({ ...parked, exchangeId, isInFlight: false }, { accountNo, remaining: 0 });
    hold.isParked = true;
    this.#openHolds += 1;
    this.#held[unitOf(this.#key(hold.keyId))] += hold.amount;
    return hold;
  }

  async unpark(hold: Hold): Promise<void> {
    if (!this.#end(hold, "released")) return;
    await this.#node.release(hold.id, hold.keyId);
  }

  remaining(hold: Hold): number {
    assert(hold instanceof SharedHold, "a hold of these accounts");
    const { remainingThen, amount, charged } = hold;
    return hold.state === "open" ? remainingThen : Math.max(0, remainingThen + amount - charged);
  }

  mayBeSpent(keyId: string): boolean {
    return !this.#paying.has(keyId);
  }

  async summaries(keyIds: readonly string[]): Promise<readonly AccountSummary[]> {
    const nowMs = this.#clock.wallMs();
    const states = await this.#node.readAccounts(keyIds).catch(asGatewayError);
    return keyIds.map((keyId, index) => {
      const state = states[index];
      assert(state != null, "there is no account for the key", keyId);
      return fundsOf(this.#key(keyId), state).summary(nowMs);
    });
  }

  held(): HeldSums {
    return this.#held;
  }

  /** Entries need no action: the database's sums include them already. */
  apply({ keys, valueCaps }: Pick<Changes, "keys" | "valueCaps">): void {
    this.#know(keys);
    this.#valueCaps.set(valueCaps.caps, []);
  }

  countedTags(keyId: string): readonly string[] {
    return this.#valueCaps.countedTags({ keyId, accountId: this.#key(keyId).accountId });
  }

  #know(keys: readonly KeyRecord[]): void {
    for (const key of keys) this.#keys.set(key.id, key);
  }

  /** Journals the progress that is waiting. A timer does so too. */
  journalProgress(): void {
    this.#progress.tell();
  }

  #key(keyId: string): KeyRecord {
    const key = this.#keys.get(keyId);
    assert(key !== undefined, "unknown key", keyId);
    return key;
  }

  /** The one place where a hold ends in this process. */
  #end(hold: Hold, state: "settled" | "released"): boolean {
    if (!hold.end(state)) return false;
    this.#leave(hold);
    return true;
  }

  #leave({ keyId, amount }: Hold): void {
    this.#openHolds -= 1;
    this.#held[unitOf(this.#key(keyId))] -= amount;
  }
}

function unitOf({ mode }: KeyRecord): keyof HeldSums {
  return mode === "credit" ? "nano" : "tokens";
}

function asGatewayError(error: unknown): never {
  throw error instanceof NodeUnavailable ? journalUnavailable() : error;
}

/** A key and its account, from the database's current state. */
export function fundsOf(key: KeyFunds["key"], state: AccountState): KeyFunds {
  const { terms, totals, held, keyCaps, accountCaps } = state;
  const capsOf = (caps: readonly CapState[], bound: Cap["bound"]) =>
    caps.map((cap) => new Cap(cap, bound, cap, cap.held));
  const account = new Account(terms, totals, held, capsOf(accountCaps, "account_cap"));
  return new KeyFunds(key, account, totals, capsOf(keyCaps, "key_cap"));
}
