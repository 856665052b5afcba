import { plural } from "../../../base/text/plural.ts";
import { newStats, type StoreProblem, type StoreStats } from "../../health.ts";
import {
  type AccountState,
  type AttachedGateway,
  type ChargeOrder,
  type ChargeResult,
  type ClaimName,
  type ClaimOrder,
  type ClaimVerdict,
  type HoldOrder,
  type HoldVerdict,
  NodeUnavailable,
  type ProducedSoFar,
  type StoreNode,
  type TokenBucket,
  type TokenVerdict,
} from "../../node.ts";
import type { NodeSettings } from "../../node-settings.ts";
import { PostgresClient } from "../client.ts";
import { isTransient } from "../errors.ts";
import { endOf } from "../lanes/hold-end.ts";
import { tokenBatches } from "../lanes/token-batches.ts";
import { ChargeKeeper } from "./charge-keeper.ts";
import { NodeHealth } from "./health.ts";
import { MoneyLanes } from "./money-lanes.ts";
import { NodeLife } from "./node-life.ts";
import { readAccounts } from "./read-accounts.ts";
import { contextOf, type NodeContext } from "./settings.ts";

const quickDeadlineMs = 1_000;
/** Missed heartbeats after which the database counts as unavailable, and the minimum time for that. */
const missedBeats = 2.5;
const minSilenceMs = 2_000;
/** Missed heartbeats after which the node of a possibly copied folder counts as dead. */
const silentBeats = 5;
const keepEveryMs = 250;
const rejoinPauseMs = 250;
const joinTimeoutMs = 10_000;
/** Number of reply times that a clean stop waits. Charges that are not acknowledged by then are in the file. */
const repliesAwaitedAtStop = 2.5;

const unattached: AttachedGateway = { inFlight: () => 0, onFenced: () => {} };

export class PostgresNode implements StoreNode {
  readonly #settings: NodeContext;
  readonly #beatMs: number;
  readonly #health: NodeHealth;
  readonly #life: NodeLife;
  readonly #keeper: ChargeKeeper;
  readonly #lanes: MoneyLanes;
  readonly #quick: PostgresClient;
  readonly #tokens: ReturnType<typeof tokenBatches>;
  readonly #stats: StoreStats = newStats();
  #databaseId = "";
  #no = 0;
  #gateway = unattached;
  #beating: ReturnType<typeof setInterval> | null = null;
  #keeping: ReturnType<typeof setInterval> | null = null;
  #turn: Promise<void> | null = null;
  #lookingAfter: Promise<void> | null = null;
  #joiningAnew: Promise<void> | null = null;
  #doubting: Promise<void> | null = null;
  #leaving: Promise<void> | null = null;

  private constructor(settings: NodeContext) {
    this.#settings = settings;
    this.#beatMs = settings.timing.beatMs;
    this.#health = new NodeHealth(Math.max(this.#beatMs * missedBeats, minSilenceMs));
    // The quick client's statements never wait for a commit, so it can ask the server about the other clients'
    // queries. Its own overdue queries are not looked into: `elsewhere` returns no rows, and the connection counts as
    // lost.
    const elsewhere = async () => [];
    const deadlineMs = quickDeadlineMs;
    this.#quick = new PostgresClient({ ...settings.connection, max: 1, deadlineMs, elsewhere });
    this.#life = new NodeLife(settings, this.#quick.query);
    this.#keeper = new ChargeKeeper(settings);
    this.#lanes = new MoneyLanes({
      settings,
      health: this.#health,
      keeper: this.#keeper,
      stats: this.#stats,
      elsewhere: this.#quick.query,
      nodeNo: () => this.#no,
      onFenced: () => this.#fenced(),
    });
    this.#tokens = tokenBatches(this.#quick.query);
  }

  /** Joins, and makes the charges that earlier processes of this data folder could not make. */
  static async join(settings: NodeSettings): Promise<PostgresNode> {
    const node = new PostgresNode(contextOf(settings));
    try {
      node.#databaseId = await node.#patiently(() => node.#life.databaseId());
      await node.#patiently(() => node.#join());
      await node.#makeUp();
    } catch (error) {
      await node.#close();
      throw error;
    }
    return node;
  }

  get no(): number {
    return this.#no;
  }

  get problem(): StoreProblem | null {
    return this.#health.problem;
  }

  get clockOffsetMs(): number {
    return this.#life.clockOffsetMs;
  }

  get stats(): Readonly<StoreStats> {
    this.#stats.pendingItems = this.#lanes.size;
    return this.#stats;
  }

  hold(order: HoldOrder): Promise<HoldVerdict> {
    return this.#lanes.hold(order);
  }

  progress(holdId: string, soFar: ProducedSoFar): void {
    this.#lanes.progress(holdId, soFar);
  }

  settle(order: ChargeOrder): Promise<ChargeResult> {
    return this.#lanes.end(endOf(order));
  }

  release(holdId: string, keyId: string): Promise<void> {
    return this.#lanes.release(holdId, keyId);
  }

  async claim(order: ClaimOrder): Promise<ClaimVerdict> {
    if (this.problem !== null) throw new NodeUnavailable();
    return this.#lanes.claim(order);
  }

  endClaim(claim: ClaimName): Promise<void> | undefined {
    const isStoring = this.#lanes.pendingEnds.some(
      ({ id, response }) => id === claim.exchangeId && response?.route === claim.route,
    );
    return isStoring ? undefined : this.#lanes.endClaim(claim);
  }

  async takeTokens(buckets: readonly TokenBucket[], amount: number): Promise<TokenVerdict> {
    if (this.problem !== null) throw new NodeUnavailable();
    return this.#tokens.add({ buckets, amount, isForced: false });
  }

  returnTokens(buckets: readonly TokenBucket[], unused: number): void {
    if (this.problem !== null || unused === 0) return;
    this.#tokens.add({ buckets, amount: -unused, isForced: true }).catch(() => {});
  }

  readAccounts(keyIds: readonly string[]): Promise<readonly (AccountState | null)[]> {
    return readAccounts(this.#quick.query, keyIds).catch((error) => {
      throw isTransient(error) ? new NodeUnavailable() : error;
    });
  }

  describeLosses(): readonly string[] {
    const charges = this.#lanes.pendingEnds.filter(({ charge }) => charge !== null);
    this.#keeper.keepOverdue(() => charges);
    const lost = charges.filter(({ id }) => !this.#keeper.isKept(id));
    const kept = charges.length - lost.length;
    return [
      ...lost.map(({ id }) => `Charge NOT written: request ${id}. The database did not acknowledge it.`),
      ...(kept === 0
        ? []
        : [
            `The database did not acknowledge ${plural(kept, "charge")}. Charges saved in ${this.#keeper.file} are written ` +
              "when a gateway starts with this data folder.",
          ]),
    ];
  }

  attach(gateway: AttachedGateway): void {
    this.#gateway = gateway;
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    this.#stopTimers();
    await this.#joiningAnew;
    await this.#turn;
    await this.#lookingAfter;
    await this.#doubting;
    const isDrained = await this.#lanes.drained(repliesAwaitedAtStop * this.#settings.timing.replyMs);
    this.#health.state = "leaving";
    await this.#lanes.halt();
    // Unsent charges are in the file. Another node clears what this one leaves open.
    if (isDrained) await this.#life.leave(this.#no).catch(() => {});
    else this.#keeper.keepOverdue(() => this.#lanes.pendingEnds);
    await this.#close();
  }

  async #join(): Promise<void> {
    this.#no = await this.#life.join();
    this.#keeper.begin(this.#no, this.#databaseId);
    this.#lanes.resume();
    this.#health.joined();
    this.#beating ??= setInterval(() => this.#beat(), this.#beatMs);
    this.#keeping ??= setInterval(() => this.#keepOverdue(), keepEveryMs);
    this.#settings.report({ kind: "joined", node: this.#no });
  }

  /** Retries while the database is slow to respond at first. Another node clears the number of a failed attempt. */
  async #patiently<Result>(work: () => Promise<Result>): Promise<Result> {
    const giveUpAtMs = performance.now() + joinTimeoutMs;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isTransient(error) || performance.now() > giveUpAtMs) throw error;
        await Bun.sleep(rejoinPauseMs);
      }
    }
  }

  /**
   * Takes over the folder's earlier nodes without waiting for their leases to end. Their charges come first: a hold
   * that is still open is then charged in full, not just for its progress.
   */
  async #makeUp(): Promise<void> {
    const left = this.#keeper.adopt(this.#databaseId);
    if (left.length === 0) return;
    const ends = left.flatMap((node) => node.ends);
    const made = ends.map((end) => this.#lanes.end(end));
    // Charges not made now are retried as long as this process lives, and stay in its file.
    await Promise.allSettled(made);
    if (ends.length > 0) this.#settings.report({ kind: "made_up", charges: ends.length });
    const dead = left.filter(({ isDead }) => isDead);
    for (const { nodeNo } of dead) await this.#patiently(() => this.#life.fence(nodeNo, this.#no));
    if (dead.length > 0) await this.#patiently(() => this.#life.clearDeadNodes(this.#no));
    const doubtful = left.filter(({ isDead }) => !isDead).map(({ nodeNo }) => nodeNo);
    if (doubtful.length > 0) this.#doubting = this.#fenceSilent(doubtful).catch(() => {});
  }

  /**
   * A folder may have been copied while its node lives elsewhere. A node that stays silent for a while counts as
   * dead; if fencing it fails, its lease ends anyway.
   */
  async #fenceSilent(doubtful: readonly number[]): Promise<void> {
    const beats = new Map<number, string>();
    for (const no of doubtful) {
      const beat = await this.#life.lastBeat(no);
      if (beat !== null) beats.set(no, beat);
    }
    await Bun.sleep(this.#beatMs * silentBeats);
    for (const [no, beat] of beats) await this.#life.fenceSilent(no, beat, this.#no);
    await this.#life.clearDeadNodes(this.#no);
  }

  /** One heartbeat at a time; one that hangs is abandoned at its deadline. */
  #beat(): void {
    this.#health.beatDue(this.#beatMs);
    if (this.#joiningAnew !== null) return;
    this.#turn ??= this.#heartbeat().finally(() => {
      this.#turn = null;
    });
  }

  async #heartbeat(): Promise<void> {
    try {
      // A lane that finds the node fenced rejoins on the same connection, so after this reply.
      const isAlive = await this.#life.beat(this.#no, this.#gateway.inFlight());
      if (!isAlive) return this.#fenced();
      this.#health.beaten();
    } catch (error) {
      this.#health.attempted("beat", error);
      return;
    }
    this.#lookingAfter ??= this.#takeOverExpired();
  }

  /** Heartbeats do not wait for it: ending all holds of a dead node may take longer than this node's lease. */
  async #takeOverExpired(): Promise<void> {
    try {
      await this.#life.takeOverExpired(this.#no);
    } catch (error) {
      this.#health.attempted("beat", error);
    } finally {
      this.#lookingAfter = null;
    }
  }

  #keepOverdue(): void {
    if (this.#lanes.size > 0) this.#keeper.keepOverdue((ms) => this.#lanes.endsPendingFor(ms));
  }

  /** Detected by the heartbeat or any lane, possibly by several at once. */
  #fenced(): void {
    if (this.#health.state !== "joined") return;
    this.#health.state = "joining";
    this.#settings.report({ kind: "fenced", node: this.#no });
    this.#joiningAnew = this.#joinAnew().finally(() => {
      this.#joiningAnew = null;
    });
  }

  /** Running requests have lost their holds and end. Their charges wait for the new number. */
  async #joinAnew(): Promise<void> {
    this.#gateway.onFenced();
    await this.#lanes.halt();
    this.#lanes.rejectAdmissions();
    while (this.#beating !== null) {
      try {
        return await this.#join();
      } catch (error) {
        this.#health.attempted("beat", error);
        await Bun.sleep(rejoinPauseMs);
      }
    }
  }

  #stopTimers(): void {
    if (this.#beating !== null) clearInterval(this.#beating);
    if (this.#keeping !== null) clearInterval(this.#keeping);
    this.#beating = null;
    this.#keeping = null;
  }

  async #close(): Promise<void> {
    this.#stopTimers();
    await this.#lanes.halt();
    this.#keeper.end();
    await Promise.all([this.#lanes.close(), this.#life.close(), this.#quick.close()]);
  }
}
