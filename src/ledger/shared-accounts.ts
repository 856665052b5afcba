import { assert, assertAmount } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { GatewayError } from "../base/errors.ts";
import { type HoldVerdict, NodeUnavailable, type StoreNode } from "../store/node.ts";
import type { Changes, KeyRecord, Store } from "../store/store.ts";
import { Account } from "./account.ts";
import type {
  AccountSummary,
  Accounts,
  HeldSums,
  HoldRequest,
  PricedCharge,
  Settled,
  Settlement,
} from "./accounts.ts";
import { Hold } from "./hold.ts";
import { nextPeriodStart } from "./period.ts";
import { ProgressNotes } from "./progress.ts";
import {
  budgetUsedUp,
  insufficient,
  journalUnavailable,
  temporarilyReserved,
  unusableKey,
} from "./refusals.ts";

export interface SharedAccountsOptions {
  readonly node: Pick<StoreNode, "trouble" | "hold" | "progress" | "settle" | "release" | "readAccounts">;
  readonly clock: Clock;
  readonly keys: readonly KeyRecord[];
  /** What the store has been given to write besides, which must be durable before a charge's answer leaves. */
  readonly written?: Store["written"];
  /** How often progress is journaled. */
  readonly progressTickMs?: number;
}

const defaultProgressTickMs = 50;

/** A hold, and what its account had left when it was given. */
class SharedHold extends Hold {
  readonly remainingThen: number;

  constructor(parts: ConstructorParameters<typeof Hold>[0], remainingThen: number) {
    super(parts);
    this.remainingThen = remainingThen;
  }
}

/**
 * The accounts of a database that several gateways share. The database decides about every hold and every charge; here
 * is only known which holds this process has open.
 */
export class SharedAccounts implements Accounts {
  readonly #node: SharedAccountsOptions["node"];
  readonly #clock: Clock;
  readonly #keys: Map<string, KeyRecord>;
  readonly #progress: ProgressNotes;
  readonly #written: Store["written"];
  readonly #held = { nano: 0, tokens: 0 };
  #openHolds = 0;

  constructor(options: SharedAccountsOptions) {
    const { node, clock, keys, written = () => null, progressTickMs = defaultProgressTickMs } = options;
    this.#node = node;
    this.#written = written;
    this.#clock = clock;
    this.#keys = new Map(keys.map((key) => [key.id, key]));
    this.#progress = new ProgressNotes({
      clock,
      tickMs: progressTickMs,
      journal: (holds) => {
        for (const { id, soFar } of holds) if (soFar !== null) node.progress(id, soFar);
      },
    });
  }

  get openHolds(): number {
    return this.#openHolds;
  }

  async hold(request: HoldRequest): Promise<Hold> {
    const { keyId, exchangeId, model, askedModel, amount } = request;
    assertAmount(amount, "hold");
    if (this.#node.trouble !== null) throw journalUnavailable();
    const key = this.#key(keyId);
    const openedAtMs = this.#clock.wallMs();
    const order = { holdId: exchangeId, keyId, amount, nowMs: openedAtMs, model, askedModel };
    const verdict = await this.#node.hold(order).catch(asRefusal);
    if (verdict.decision !== "held") throw refusalOf(verdict, key, amount, openedAtMs);
    const { periodStartMs, remaining } = verdict;
    this.#openHolds += 1;
    this.#held[unitOf(key)] += amount;
    return new SharedHold({ ...request, openedAtMs, periodStartMs }, remaining);
  }

  progress(hold: Hold, soFar: PricedCharge): void {
    this.#progress.take(hold, soFar);
  }

  async settle(hold: Hold, settlement: Settlement): Promise<Settled | null> {
    // Checked before the hold ends, so that it can still be released if the cost is invalid.
    assertAmount(settlement.cost, "cost");
    if (!this.#end(hold, "settled")) return null;
    const { record, ending, outcome, basis } = settlement;
    const atMs = this.#clock.wallMs();
    if (record !== null) Object.assign(record, { outcome, basis });
    const written = this.#written();
    const settled = await this.#node
      .settle({
        ...settlement,
        holdId: hold.id,
        keyId: hold.keyId,
        openedAtMs: hold.openedAtMs,
        periodStartMs: hold.periodStartMs,
        model: hold.model,
        askedModel: hold.askedModel,
        atMs,
        ending: ending && { ...ending, atMs },
      })
      .catch(asRefusal);
    if (written !== null) await written;
    hold.chargedWith(settled.charged);
    if (record !== null) record.costNano = this.#key(hold.keyId).mode === "credit" ? settled.charged : 0;
    return settled;
  }

  release(hold: Hold): boolean {
    if (!this.#end(hold, "released")) return false;
    this.#node.release(hold.id, hold.keyId);
    return true;
  }

  remaining(hold: Hold): number {
    assert(hold instanceof SharedHold, "a hold of these accounts");
    const { remainingThen, amount, charged } = hold;
    return hold.state === "open" ? remainingThen : Math.max(0, remainingThen + amount - charged);
  }

  async summaries(keyIds: readonly string[]): Promise<readonly AccountSummary[]> {
    const nowMs = this.#clock.wallMs();
    const states = await this.#node.readAccounts(keyIds).catch(asRefusal);
    return keyIds.map((keyId, index) => {
      const state = states[index];
      assert(state != null, `there is no account for key ${keyId}`);
      return new Account(this.#key(keyId), state.totals, state.held).summary(nowMs);
    });
  }

  held(): HeldSums {
    return this.#held;
  }

  /** The entries are in the database's sums already. */
  apply({ keys }: Changes): void {
    for (const key of keys) this.#keys.set(key.id, key);
  }

  /** Journals the progress that is due. A timer does so too while there is any. */
  journalProgress(): void {
    this.#progress.tell();
  }

  #key(keyId: string): KeyRecord {
    const key = this.#keys.get(keyId);
    assert(key !== undefined, `there is no key ${keyId}`);
    return key;
  }

  /** The one place where a hold ends, as far as this process is concerned. */
  #end(hold: Hold, state: "settled" | "released"): boolean {
    if (!hold.end(state)) return false;
    this.#openHolds -= 1;
    this.#held[unitOf(this.#key(hold.keyId))] -= hold.amount;
    this.#progress.forget(hold);
    return true;
  }
}

function unitOf({ mode }: KeyRecord): keyof HeldSums {
  return mode === "credit" ? "nano" : "tokens";
}

function asRefusal(error: unknown): never {
  throw error instanceof NodeUnavailable ? journalUnavailable() : error;
}

function refusalOf(
  { decision, balance }: HoldVerdict,
  key: KeyRecord,
  amount: number,
  nowMs: number,
): GatewayError {
  assert(decision !== "held", "a refusal");
  switch (decision) {
    case "too_little":
      return insufficient(key.mode, amount, balance);
    case "reserved":
      return temporarilyReserved(key.mode, balance);
    case "used_up":
      return budgetUsedUp(nextPeriodStart(key.period, nowMs), nowMs);
    default:
      return unusableKey(decision);
  }
}
