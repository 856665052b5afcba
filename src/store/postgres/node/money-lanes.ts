import { assert } from "../../../base/assert.ts";
import type { StoreStats } from "../../health.ts";
import {
  type ChargeResult,
  type ClaimName,
  type ClaimOrder,
  type ClaimVerdict,
  type HoldOrder,
  type HoldVerdict,
  NodeUnavailable,
  type ProducedSoFar,
} from "../../node.ts";
import { PostgresClient, type Query } from "../client.ts";
import { type ClaimItem, sendClaims } from "../lanes/claim-batch.ts";
import { type HoldEnd, releaseOf } from "../lanes/hold-end.ts";
import { Lane } from "../lanes/lane.ts";
import { type MoneyItem, type MoneyResponse, ratesIn, sendMoney } from "../lanes/money-batch.ts";
import type { ChargeKeeper } from "./charge-keeper.ts";
import type { NodeHealth } from "./health.ts";
import { RatesKeeper } from "./rates-keeper.ts";
import type { NodeContext } from "./settings.ts";

/** The lanes' numbers in the database. */
const laneNo = { money: 1, claims: 2, apart: 3 } as const;
export const laneCount = 3;

const admissionTimeoutMs = 1_000;
/** How long the end of a response waits for its charge. */
const chargeTimeoutMs = 30_000;

/** The share of the reply deadline that may be spent waiting for an account locked by another session. */
const lockShare = { money: 1 / 8, apart: 1 / 2 } as const;

export interface MoneyLanesParts {
  readonly settings: NodeContext;
  readonly health: NodeHealth;
  readonly keeper: ChargeKeeper;
  readonly stats: StoreStats;
  /** Another connection, to ask about a batch without a reply. */
  readonly elsewhere: Query;
  /** The node's number. */
  nodeNo(): number;
  onFenced(): void;
}

/**
 * The lanes of a node, each with its own connection. Holds and their ends share one: they lock the same accounts, and
 * would otherwise wait for each other commit by commit. Items of an account that another session keeps locked go to a
 * separate lane, so that all others continue.
 */
export class MoneyLanes {
  readonly #parts: MoneyLanesParts;
  readonly #keptRates: RatesKeeper;
  readonly #clients: readonly PostgresClient[];
  readonly #money: Lane<MoneyItem, MoneyResponse>;
  readonly #apart: Lane<MoneyItem, MoneyResponse>;
  readonly #claims: Lane<ClaimItem, ClaimVerdict>;
  /** Progress waiting for the next batch. Only the latest of each hold is kept, however long the database is unavailable. */
  #notes: Map<string, ProducedSoFar> | null = null;

  constructor(parts: MoneyLanesParts) {
    this.#parts = parts;
    const { settings, health, keeper, nodeNo, onFenced, elsewhere } = parts;
    const { replyMs: deadlineMs } = settings.timing;
    const connect = () => new PostgresClient({ ...settings.connection, max: 1, deadlineMs, elsewhere });
    const [money, claims, apart] = [connect(), connect(), connect()];
    this.#clients = [money, claims, apart];
    this.#keptRates = new RatesKeeper(money.query);
    const shared = { unavailable: () => new NodeUnavailable(), onFenced };
    const moneyLane = (source: "money" | "apart", client: PostgresClient, lockMs: number) => ({
      ...shared,
      groupOf,
      timeoutMs: ({ kind }: MoneyItem) => (kind === "hold" ? admissionTimeoutMs : chargeTimeoutMs),
      isKept: ({ kind }: MoneyItem) => kind !== "hold",
      send: async (sequence: number, items: readonly MoneyItem[]) => {
        // A batch must not change between retries, so later progress goes into the next one.
        if (items.some((item) => item.kind === "progress" && item.notes === this.#notes)) this.#notes = null;
        await this.#keptRates.keep(ratesIn(items));
        const connection = { client, rules: settings.rules };
        const answers = await this.#timed(items.length, () =>
          sendMoney(connection, [nodeNo(), laneNo[source], sequence], items, Math.floor(lockMs)),
        );
        keeper.acknowledged(items);
        return answers;
      },
      onAttempt: (failure: unknown) => health.attempted(source, failure),
      // The caller has given up.
      onLateResponse: (item: MoneyItem, answer: MoneyResponse) => {
        if (item.kind === "hold" && asVerdict(answer).decision === "held")
          this.release(item.order.holdId, item.order.keyId).catch(() => {});
      },
      onRejected: (item: MoneyItem, error: unknown) => this.#rejected(item, error),
    });
    this.#apart = new Lane(moneyLane("apart", apart, deadlineMs * lockShare.apart));
    this.#money = new Lane({
      ...moneyLane("money", money, deadlineMs * lockShare.money),
      apart: this.#apart,
      onSetApart: (key) => settings.report({ kind: "blocked", key }),
    });
    this.#claims = new Lane({
      ...shared,
      groupOf: ({ exchangeId }) => exchangeId,
      timeoutMs: () => admissionTimeoutMs,
      // Only this node can end its claims while it is alive.
      isKept: ({ kind }) => kind === "end",
      send: (sequence, items) => sendClaims(claims.query, [nodeNo(), laneNo.claims, sequence], items),
      onAttempt: (failure) => health.attempted("claims", failure),
      onLateResponse: (item, verdict) => {
        if (item.kind === "claim" && verdict === "run") this.endClaim(item);
      },
    });
  }

  /** The number of pending items. */
  get size(): number {
    return this.#money.size + this.#apart.size;
  }

  /** Unacknowledged ends of holds, oldest first. */
  get pendingEnds(): readonly HoldEnd[] {
    return endsAmong([...this.#apart.pending, ...this.#money.pending]);
  }

  /** Unacknowledged ends that have waited at least this long. */
  endsPendingFor(ms: number): readonly HoldEnd[] {
    return endsAmong([...this.#apart.pendingFor(ms), ...this.#money.pendingFor(ms)]);
  }

  async hold(order: HoldOrder): Promise<HoldVerdict> {
    return asVerdict(await this.#add(order.keyId, { kind: "hold", order }));
  }

  async end(end: HoldEnd): Promise<ChargeResult> {
    const answer = await this.#add(end.key, { kind: "end", end });
    if ("isSuperseded" in answer) throw new NodeUnavailable();
    assert("charged" in answer, "an end is answered with what it has charged");
    return answer;
  }

  claim(order: ClaimOrder): Promise<ClaimVerdict> {
    return this.#claims.add({ kind: "claim", ...order });
  }

  progress(holdId: string, soFar: ProducedSoFar): void {
    if (this.#notes === null) {
      this.#notes = new Map();
      this.#money.add({ kind: "progress", notes: this.#notes }).catch(() => {});
    }
    this.#notes.set(holdId, soFar);
  }

  async release(holdId: string, keyId: string): Promise<void> {
    await this.end(releaseOf(holdId, keyId));
  }

  async endClaim({ keyId, route, idempotencyKey, exchangeId }: ClaimName): Promise<void> {
    await this.#claims.add({ kind: "end", keyId, route, idempotencyKey, exchangeId }).catch(() => {});
  }

  resume(): void {
    this.#keptRates.forget();
    for (const lane of this.#lanes) lane.resume();
  }

  async halt(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.halt()));
  }

  /** Rejects waiting admissions. Charges keep waiting. */
  rejectAdmissions(): void {
    for (const lane of this.#lanes) lane.rejectUnkept();
  }

  /** True if all replies arrived in time. */
  async drained(maxMs: number): Promise<boolean> {
    const all = await Promise.all(this.#lanes.map((lane) => lane.drained(maxMs)));
    return all.every((isDrained) => isDrained);
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  get #lanes() {
    return [this.#money, this.#apart, this.#claims];
  }

  /** Later items of the same key must not overtake those in the separate lane. */
  #add(keyId: string, item: MoneyItem): Promise<MoneyResponse> {
    const lane = this.#apart.size > 0 && this.#apart.isBusyWith(keyId) ? this.#apart : this.#money;
    return lane.add(item);
  }

  async #timed<Result>(items: number, work: () => Promise<Result>): Promise<Result> {
    const { stats } = this.#parts;
    const startedMs = performance.now();
    try {
      const result = await work();
      stats.batches += 1;
      stats.items += items;
      stats.lastBatchItems = items;
      stats.lastBatchMs = performance.now() - startedMs;
      return result;
    } catch (error) {
      stats.failedBatches += 1;
      throw error;
    }
  }

  /**
   * The charge stays in the file and is retried at the next start. Its claim is released here: an exchange that ended
   * while the charge was pending left that to the charge.
   */
  #rejected(item: MoneyItem, err: unknown): void {
    if (item.kind !== "end" || item.end.charge === null) return;
    const { id, response } = item.end;
    this.#parts.keeper.keep(item.end);
    if (response !== null) {
      const { key, route, idempotency_key } = response;
      this.endClaim({ keyId: key, route, idempotencyKey: idempotency_key, exchangeId: id });
    }
    this.#parts.settings.report({ kind: "rejected", exchange: id, err });
  }
}

function asVerdict(answer: MoneyResponse): HoldVerdict {
  assert("decision" in answer, "a hold is answered with a verdict");
  return answer;
}

function groupOf(item: MoneyItem): string {
  if (item.kind === "progress") return "";
  return item.kind === "hold" ? item.order.keyId : item.end.key;
}

function endsAmong(items: readonly MoneyItem[]): readonly HoldEnd[] {
  return items.flatMap((item) => (item.kind === "end" ? [item.end] : []));
}
