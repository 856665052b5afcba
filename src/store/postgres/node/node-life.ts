import { heldFor } from "../../records.ts";
import type { MoneyRules } from "../../shared-batch.ts";
import { type HoldRow, holdOf } from "../../tables/entry-table.ts";
import { PostgresClient, type Query } from "../client.ts";
import type { HoldEnd } from "../lanes/hold-end.ts";
import { sendMoney } from "../lanes/money-batch.ts";
import { laneCount } from "./money-lanes.ts";
import type { NodeContext } from "./settings.ts";

/** Small enough to hold locks for milliseconds only, so that charges of the same accounts do not wait. */
const clearedAtOnce = 200;
/** A slow reply may look like this, too. Days and periods follow the database's clock. */
const notableSkewMs = 2_000;

/** A node's membership: joining, heartbeats, and taking over dead nodes. */
export class NodeLife {
  readonly #settings: NodeContext;
  readonly #client: PostgresClient;
  #isSkewReported = false;
  #clockOffsetMs = 0;

  constructor(settings: NodeContext, elsewhere: Query) {
    this.#settings = settings;
    const { replyMs: deadlineMs } = settings.timing;
    this.#client = new PostgresClient({ ...settings.connection, max: 1, deadlineMs, elsewhere });
  }

  /** As of the last heartbeat; 0 while the clocks agree. */
  get clockOffsetMs(): number {
    return this.#clockOffsetMs;
  }

  /** Joins under a number that was never used before. */
  async join(): Promise<number> {
    const { name, version } = this.#settings;
    const [row] = await this.#client.query<{ no: number }>("SELECT sluice_join($1, $2, $3, $4) AS no", [
      name,
      version,
      this.#settings.timing.leaseMs,
      laneCount,
    ]);
    if (row === undefined) throw new Error("The database did not assign a number to this node.");
    return row.no;
  }

  async databaseId(): Promise<string> {
    const [row] = await this.#client.query<{ id: string }>("SELECT database_id AS id FROM state");
    return row?.id ?? "";
  }

  /** False if the node was taken over. */
  async beat(no: number, inFlight: number): Promise<boolean> {
    const [row] = await this.#client.query<{ isAlive: boolean; nowMs: number }>(
      `SELECT is_alive AS "isAlive", now_ms AS "nowMs" FROM sluice_beat($1, $2, $3)`,
      [no, this.#settings.timing.leaseMs, inFlight],
    );
    if (row === undefined) return false;
    this.#compareClocks(row.nowMs);
    return row.isAlive;
  }

  /** Takes over dead nodes and ends their open holds. */
  async takeOverExpired(no: number): Promise<void> {
    const { leaseMs, graceMs } = this.#settings.timing;
    const [row] = await this.#client.query<{ fenced: ArrayLike<number>; uncleared: number }>(
      "SELECT fenced, uncleared FROM sluice_look_after_nodes($1, $2, $3)",
      [no, leaseMs, graceMs],
    );
    const fenced = Array.from(row?.fenced ?? []);
    if (fenced.length > 0) this.#settings.report({ kind: "took_over", nodes: fenced });
    if ((row?.uncleared ?? 0) > 0) await this.clearDeadNodes(no);
  }

  /** Ends the holds of dead nodes: each is charged for what it had produced, or released. Two nodes may do so at the same time. */
  async clearDeadNodes(no: number): Promise<void> {
    const { rules } = this.#settings;
    const connection = { client: this.#client, rules };
    const sums = { ended: 0, charged: 0 };
    for (;;) {
      const ends = await deadEnds(this.#client.query, rules, clearedAtOnce);
      if (ends.length === 0) break;
      const items = ends.map((end) => ({ kind: "end", end }) as const);
      const answers = await sendMoney(connection, [no, null, 0], items);
      sums.ended += ends.length;
      sums.charged += answers.filter((answer) => "charged" in answer && answer.charged > 0).length;
    }
    if (sums.ended > 0) this.#settings.report({ kind: "cleared", ...sums });
  }

  /** Fences an earlier process of this data folder, which is certainly gone. */
  async fence(dead: number, no: number): Promise<void> {
    await this.#client.query("SELECT sluice_fence($1, $2)", [dead, no]);
  }

  /** A node's last heartbeat; null if it is dead or gone already. */
  async lastBeat(no: number): Promise<string | null> {
    const [row] = await this.#client.query<{ beat: string }>(
      "SELECT beat_at::text AS beat FROM nodes WHERE no = $1 AND dead_at IS NULL",
      [no],
    );
    return row?.beat ?? null;
  }

  /** Fences a node that has sent no heartbeat since this one. */
  async fenceSilent(silent: number, beat: string, no: number): Promise<void> {
    await this.#client.query(
      "SELECT sluice_fence(no, $2) FROM nodes WHERE no = $1 AND beat_at = $3::text::timestamptz",
      [silent, no, beat],
    );
  }

  /** Ends this node. Holds of accounts that are locked at the moment are left for another node. */
  async leave(no: number): Promise<void> {
    if (await this.#isGone(no)) return;
    await this.clearDeadNodes(no);
    await this.#isGone(no);
  }

  async #isGone(no: number): Promise<boolean> {
    const [row] = await this.#client.query<{ isGone: boolean }>('SELECT sluice_leave($1) AS "isGone"', [no]);
    return row?.isGone ?? false;
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #compareClocks(databaseMs: number): void {
    const byMs = Math.round(Date.now() - databaseMs);
    const isNotable = Math.abs(byMs) > notableSkewMs;
    if (isNotable && !this.#isSkewReported) this.#settings.report({ kind: "clock_differs", by_ms: byMs });
    this.#isSkewReported = isNotable;
    this.#clockOffsetMs = isNotable ? -byMs : 0;
  }
}

interface DeadHoldRow extends HoldRow {
  readonly accountNo: number;
  /** By the database's clock. */
  readonly atMs: number;
}

/** The ends of some holds of dead nodes. None if there are none, or only holds of accounts that are locked at the moment. */
export async function deadEnds(
  query: Query,
  rules: Pick<MoneyRules, "interrupt">,
  most: number,
): Promise<readonly HoldEnd[]> {
  const [row] = await query<{ holds: string }>("SELECT sluice_dead_holds($1)::text AS holds", [most]);
  // Safe cast: the function's promise.
  const rows = JSON.parse(row?.holds ?? "[]") as DeadHoldRow[];
  return rows.map((row) => endOf(row, rules));
}

function endOf({ accountNo, atMs, ...row }: DeadHoldRow, rules: Pick<MoneyRules, "interrupt">): HoldEnd {
  const hold = holdOf(row);
  const { holdId: id, keyId: key, chargeSoFar, openedAtMs } = hold;
  if (chargeSoFar === 0) return { id, key, charge: null, response: null };
  const { response: _, turns: __, ...interruption } = rules.interrupt(hold, atMs);
  const charge = { ...interruption, ...heldFor(hold), accountNo, openedAtMs, atMs };
  return { id, key, charge, response: null };
}
