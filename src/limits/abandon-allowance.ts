import { type Clock, msPerHour } from "../base/clock.ts";
import { nanoPerCredit } from "../base/money/money.ts";

export type AbandonedUnit = "credit" | "token_budget";

export interface AbandonAllowanceOptions {
  readonly clock: Clock;
  /** The charges of an account since this time, in its own unit. */
  chargedSince(accountId: string, sinceMs: number): Promise<number>;
  /** The number of gateways that share the accounts, this one included. */
  liveNodes(): Promise<number>;
}

const windowHours = 24;
/** The minimum for every account: 0.10 credits, or 10,000 tokens. */
const minAllowance: Readonly<Record<AbandonedUnit, number>> = {
  credit: nanoPerCredit / 10,
  token_budget: 10_000,
};
/** The allowance as a share of what the account was charged within the window. */
const shareOfCharges = 0.01;
const rememberMs = 60_000;

interface FreeSpend {
  /** Free amounts in each hour with abandoned calls, oldest first. */
  readonly hours: { hour: number; amount: number }[];
  charged: { readonly amount: number; readonly atMs: number } | null;
}

/**
 * How much each account's abandoned calls can cost before they are charged. Providers bill for input that they have
 * read, even if the client disconnects before any output. Clients that disconnect now and then pay nothing for it and
 * are never rejected for it. Each node has its share of the allowance, and forgets what it has granted when it stops.
 */
export class AbandonAllowance {
  readonly #options: AbandonAllowanceOptions;
  /** Ordered by the last abandoned call. */
  readonly #spentBy = new Map<string, FreeSpend>();
  #nodes: { readonly count: number; readonly atMs: number } | null = null;

  constructor(options: AbandonAllowanceOptions) {
    this.#options = options;
  }

  /** Whether an abandoned call is free. The call that crosses the limit still is. Never rejects. */
  async covers(accountId: string, unit: AbandonedUnit, cost: number): Promise<boolean> {
    const share = 1 / (await this.#countNodes());
    const least = minAllowance[unit];
    if (this.#spent(accountId) < least * share) return this.#spend(accountId, cost);
    const charged = await this.#chargedTo(accountId);
    // Do not await between this check and the spending.
    if (this.#spent(accountId) >= Math.max(least, charged * shareOfCharges) * share) return false;
    return this.#spend(accountId, cost);
  }

  /** Number of known accounts. */
  get size(): number {
    return this.#spentBy.size;
  }

  #spend(accountId: string, cost: number): true {
    const spent = this.#spentBy.get(accountId) ?? { hours: [], charged: null };
    const hour = this.#hour();
    const last = spent.hours.at(-1);
    if (last?.hour === hour) last.amount += cost;
    else spent.hours.push({ hour, amount: cost });
    this.#spentBy.delete(accountId);
    this.#spentBy.set(accountId, spent);
    this.#forgetOld(hour);
    return true;
  }

  #spent(accountId: string): number {
    const firstHour = this.#hour() - windowHours;
    const hours = this.#spentBy.get(accountId)?.hours ?? [];
    while ((hours[0]?.hour ?? firstHour + 1) <= firstHour) hours.shift();
    return hours.reduce((sum, { amount }) => sum + amount, 0);
  }

  #forgetOld(hour: number): void {
    for (const [accountId, { hours }] of this.#spentBy) {
      if ((hours.at(-1)?.hour ?? 0) > hour - windowHours) return;
      this.#spentBy.delete(accountId);
    }
  }

  async #chargedTo(accountId: string): Promise<number> {
    const { clock, chargedSince } = this.#options;
    const known = this.#spentBy.get(accountId)?.charged ?? null;
    const nowMs = clock.monotonicMs();
    if (known !== null && nowMs - known.atMs < rememberMs) return known.amount;
    const sinceMs = clock.wallMs() - windowHours * msPerHour;
    const amount = await chargedSince(accountId, sinceMs).catch(() => known?.amount ?? 0);
    const spent = this.#spentBy.get(accountId);
    if (spent !== undefined) spent.charged = { amount, atMs: nowMs };
    return amount;
  }

  async #countNodes(): Promise<number> {
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#nodes;
    if (known !== null && nowMs - known.atMs < rememberMs) return known.count;
    const count = await this.#options.liveNodes().catch(() => known?.count ?? 1);
    this.#nodes = { count: Math.max(1, count), atMs: nowMs };
    return this.#nodes.count;
  }

  #hour(): number {
    return Math.floor(this.#options.clock.monotonicMs() / msPerHour);
  }
}
