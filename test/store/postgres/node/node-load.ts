import { expect } from "bun:test";
import type { PostgresClient } from "../../../../src/store/postgres/client.ts";
import type { PostgresNode } from "../../../../src/store/postgres/node/postgres-node.ts";
import { costing } from "../../../support/rates.ts";
import { chargeOrder, holdOrder } from "./world.ts";

/** What a caller knows of its exchange, in the end. */
interface Exchange {
  readonly id: string;
  /** The charge that the caller got; null if that took too long. */
  charged: number | null;
  /** What it cost; its hold is larger. */
  readonly cost: number;
}

/**
 * Callers that hold and settle without a pause, whatever happens to the database, and remember the results. At the end the
 * ledger is compared with them.
 */
export class NodeLoad {
  readonly exchanges: Exchange[] = [];
  readonly #nodes: readonly PostgresNode[];
  readonly #keyIds: readonly string[];
  #isStopped = false;
  #callers: Promise<void>[] = [];

  constructor(nodes: readonly PostgresNode[], keyIds: readonly string[]) {
    this.#nodes = nodes;
    this.#keyIds = keyIds;
  }

  get acknowledged(): number {
    return this.exchanges.filter(({ charged }) => charged !== null).length;
  }

  start(callers: number): void {
    this.#callers = Array.from({ length: callers }, (_, index) => this.#call(index));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#callers);
  }

  async #call(caller: number): Promise<void> {
    for (let round = 0; !this.#isStopped; round += 1) {
      const node = this.#nodes[(caller + round) % this.#nodes.length] as PostgresNode;
      const keyId = this.#keyIds[(caller * 7 + round) % this.#keyIds.length] as string;
      const order = holdOrder(keyId, 100);
      try {
        const { decision } = await node.hold(order);
        if (decision !== "held") continue;
      } catch {
        await Bun.sleep(20);
        continue;
      }
      if (round % 5 === 4) {
        node.release(order.holdId, keyId);
        continue;
      }
      if (round % 3 === 0) node.progress(order.holdId, costing(10));
      const exchange: Exchange = { id: order.holdId, charged: null, cost: 30 + (round % 40) };
      this.exchanges.push(exchange);
      try {
        exchange.charged = (await node.settle(chargeOrder(order, exchange.cost))).charged;
      } catch {
        // It took too long for its caller. It is made nevertheless.
      }
    }
  }

  /** Nothing lost, nothing doubled, nothing left held, once no node has anything left to send. */
  async check(client: PostgresClient): Promise<void> {
    const rows = await client.query<{ id: string; kind: string; amount: number; outcome: string }>(
      `SELECT exchange_id AS id, kind, amount::float8, outcome FROM entries WHERE exchange_id IS NOT NULL`,
    );
    const charged = Map.groupBy(
      rows.filter(({ kind }) => kind === "charge"),
      ({ id }) => id,
    );
    for (const [id, entries] of charged) {
      const outcomes = entries.map(({ outcome }) => outcome);
      expect({ id, outcomes: new Set(outcomes).size }).toEqual({ id, outcomes: entries.length });
    }
    for (const { id, charged: told, cost } of this.exchanges) {
      const sum = (charged.get(id) ?? []).reduce((total, { amount }) => total - amount, 0);
      expect({ id, sum, told }).toEqual({ id, sum: cost, told: told === null ? null : cost });
    }
    expect(await unbalanced(client)).toEqual([]);
  }
}

/** Accounts whose totals differ from their entries and holds. */
export function unbalanced(client: PostgresClient): Promise<unknown[]> {
  return client.query(
    `SELECT a.id, a.posted::float8, a.held::float8 FROM accounts a
    WHERE posted <> (SELECT coalesce(sum(amount), 0) FROM entries WHERE account_no = a.no AND kind <> 'overrun')
      OR held <> (SELECT coalesce(sum(amount), 0) FROM holds WHERE account_no = a.no AND period_start_ms = a.period_start_ms)
      OR used <> (SELECT coalesce(-sum(amount), 0) FROM entries WHERE account_no = a.no AND kind = 'charge')`,
  );
}
