import type { StoreStats } from "../../health.ts";
import {
  type Charged,
  type ClaimOrder,
  type ClaimVerdict,
  type HoldOrder,
  type HoldVerdict,
  NodeUnavailable,
} from "../../node.ts";
import { PostgresClient } from "../client.ts";
import { type ClaimItem, sendClaims } from "../lanes/claim-batch.ts";
import { sendHolds } from "../lanes/hold-batch.ts";
import { Lane } from "../lanes/lane.ts";
import { releaseOf, type SettleItem, sendEnds } from "../lanes/settle-batch.ts";
import type { ChargeKeeper } from "./charge-keeper.ts";
import type { NodeHealth } from "./health.ts";
import type { NodeContext } from "./settings.ts";

/** The lanes' numbers in the database. */
const laneNo = { holds: 1, settles: 2, claims: 3 } as const;
export const laneCount = 3;

const admissionPatienceMs = 1_000;
/** How long the last bytes of an answer wait for its charge. */
const chargePatienceMs = 30_000;

export interface MoneyLanesParts {
  readonly settings: NodeContext;
  readonly health: NodeHealth;
  readonly keeper: ChargeKeeper;
  readonly stats: StoreStats;
  /** The number under which the node has joined. */
  nodeNo(): number;
  onFenced(): void;
}

/** The three lanes of a node, each with a connection of its own. */
export class MoneyLanes {
  readonly #parts: MoneyLanesParts;
  readonly #clients: readonly PostgresClient[];
  readonly holds: Lane<HoldOrder, HoldVerdict>;
  readonly settles: Lane<SettleItem, Charged>;
  readonly claims: Lane<ClaimItem, ClaimVerdict>;
  /** Progress that waits for the next batch; only the latest of each hold, however long the database is away. */
  #notes: Map<string, number> | null = null;

  constructor(parts: MoneyLanesParts) {
    this.#parts = parts;
    const { settings, health, keeper, nodeNo, onFenced } = parts;
    const { answerMs: deadlineMs } = settings.timing;
    const connect = () => new PostgresClient({ ...settings.connection, max: 1, deadlineMs });
    const [holds, settles, claims] = [connect(), connect(), connect()];
    this.#clients = [holds, settles, claims];
    const shared = { unavailable: () => new NodeUnavailable(), onFenced };
    this.holds = new Lane({
      ...shared,
      patienceMs: admissionPatienceMs,
      isKept: () => false,
      send: (sequence, orders) => sendHolds(holds.query, [nodeNo(), laneNo.holds, sequence], orders),
      onAttempt: (failure) => health.attempted("holds", failure),
      // Nobody waits for it any more.
      onLateAnswer: ({ holdId }, { decision }) => {
        if (decision === "held") this.release(holdId);
      },
    });
    this.settles = new Lane({
      ...shared,
      patienceMs: chargePatienceMs,
      isKept: () => true,
      send: async (sequence, items) => {
        // A batch that is sent again must be the same: what comes from now on belongs to the next.
        if (items.some((item) => item.kind === "progress" && item.notes === this.#notes)) this.#notes = null;
        const answers = await this.#timed(items.length, () =>
          sendEnds(settles.query, [nodeNo(), laneNo.settles, sequence], items),
        );
        keeper.acknowledged(items);
        return answers;
      },
      onAttempt: (failure) => health.attempted("settles", failure),
      onRejected: (item, error) => this.#rejected(item, error),
    });
    this.claims = new Lane({
      ...shared,
      patienceMs: admissionPatienceMs,
      // Nobody waits for the end of a claim, and only this node can end it as long as it lives.
      isKept: ({ kind }) => kind === "end",
      send: (sequence, items) => sendClaims(claims.query, [nodeNo(), laneNo.claims, sequence], items),
      onAttempt: (failure) => health.attempted("claims", failure),
      onLateAnswer: (item, verdict) => {
        if (item.kind === "claim" && verdict === "run") this.endClaim(item);
      },
    });
  }

  progress(holdId: string, chargeSoFar: number): void {
    if (this.#notes === null) {
      this.#notes = new Map();
      this.settles.add({ kind: "progress", notes: this.#notes }).catch(() => {});
    }
    this.#notes.set(holdId, chargeSoFar);
  }

  release(holdId: string): void {
    this.settles.add(releaseOf(holdId)).catch(() => {});
  }

  endClaim({
    keyId,
    route,
    idempotencyKey,
    exchangeId,
  }: Omit<ClaimOrder, "bodyHash" | "atMs" | "notBeforeMs">): void {
    this.claims.add({ kind: "end", keyId, route, idempotencyKey, exchangeId }).catch(() => {});
  }

  resume(): void {
    for (const lane of [this.holds, this.settles, this.claims]) lane.resume();
  }

  async halt(): Promise<void> {
    await Promise.all([this.holds.halt(), this.settles.halt(), this.claims.halt()]);
  }

  /** What waits to be admitted is refused; charges wait on. */
  refuseAdmissions(): void {
    this.holds.rejectAll();
    this.claims.rejectAll();
  }

  /** True when everything was answered in time. */
  async drained(mostMs: number): Promise<boolean> {
    const all = [this.holds.drained(mostMs), this.settles.drained(mostMs), this.claims.drained(mostMs)];
    return (await Promise.all(all)).every((isDrained) => isDrained);
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
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

  /** It stays in the file, and is tried again at the next start. */
  #rejected(item: SettleItem, error: unknown): void {
    if (item.kind === "progress" || item.charge === null) return;
    this.#parts.keeper.keep(item);
    this.#parts.settings.report({ kind: "rejected", exchangeId: item.id, error });
  }
}
