import { PostgresClient, type Query } from "../client.ts";
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
    const { answerMs: deadlineMs } = settings.timing;
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
    if (row === undefined) throw new Error("The database gave this node no number.");
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
  async lookAfterOthers(no: number): Promise<void> {
    const { leaseMs, graceMs } = this.#settings.timing;
    const [row] = await this.#client.query<{ fenced: ArrayLike<number>; uncleared: number }>(
      "SELECT fenced, uncleared FROM sluice_look_after_nodes($1, $2, $3)",
      [no, leaseMs, graceMs],
    );
    const fenced = Array.from(row?.fenced ?? []);
    if (fenced.length > 0) this.#settings.report({ kind: "took_over", nodes: fenced });
    if ((row?.uncleared ?? 0) > 0) await this.clearDeadNodes(no);
  }

  async clearDeadNodes(no: number): Promise<void> {
    const sums = { ended: 0, charged: 0 };
    for (;;) {
      const [row] = await this.#client.query<{ ended: number; charged: number }>(
        "SELECT ended, charged FROM sluice_clear_dead_nodes($1, $2)",
        [no, clearedAtOnce],
      );
      if (row === undefined || row.ended === 0) break;
      sums.ended += row.ended;
      sums.charged += row.charged;
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

  async leave(no: number): Promise<void> {
    await this.#client.query("SELECT sluice_leave($1)", [no]);
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
