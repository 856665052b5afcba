import { newId } from "../../../../src/base/id.ts";
import { moneyRules } from "../../../../src/ledger/shared-batch.ts";
import type {
  ChargeOrder,
  ClaimOrder,
  HoldOrder,
  NodeEvent,
  NodeTiming,
} from "../../../../src/store/node.ts";
import type { PostgresClient } from "../../../../src/store/postgres/client.ts";
import { PostgresNode } from "../../../../src/store/postgres/node/postgres-node.ts";
import type { StoredResponse } from "../../../../src/store/store.ts";
import type { PostgresServer } from "../../../support/postgres.ts";
import { costing } from "../../../support/rates.ts";
import { TcpProxy } from "../../../support/tcp-proxy.ts";
import { temporaryFolder, usageRecord } from "../../fixtures.ts";
import { clientOf, migratedDatabase, type PostgresDatabase } from "../fixtures.ts";

/** Short enough for a test to wait for a takeover, long enough for a busy machine to send its heartbeats. */
export const shortTiming: NodeTiming = { leaseMs: 2_000, graceMs: 500, beatMs: 100, replyMs: 2_000 };

/** A database with accounts, and nodes that reach it through proxies of their own. */
export class NodeWorld implements AsyncDisposable {
  readonly database: PostgresDatabase;
  client: PostgresClient;
  readonly #nodes: PostgresNode[] = [];
  readonly #disposables: Disposable[] = [];
  readonly #proxies: TcpProxy[] = [];

  constructor(database: PostgresDatabase) {
    this.database = database;
    this.client = clientOf(database.url, { max: 2 });
  }

  static async create(server?: PostgresServer): Promise<NodeWorld> {
    return new NodeWorld(await migratedDatabase(server));
  }

  /** The same database is at another port from now on. */
  async moveTo(port: number): Promise<void> {
    await this.client.close();
    this.client = clientOf(this.#urlAt(port), { max: 2 });
    for (const proxy of this.#proxies) proxy.retarget(port);
  }

  async addKey(credit: number): Promise<string> {
    const id = newId("key_");
    await this.client.query(
      `WITH made AS (INSERT INTO accounts (id, mode, period, created_at_ms, posted, purchased)
        VALUES ($1, 'credit', 'none', 0, $2::int8, $2::int8) RETURNING no)
      INSERT INTO keys (id, account_no, hash, prefix, status, scope, created_at_ms, revision)
      SELECT $1, no, $1, 'slu_', 'active', 'all', 0, 0 FROM made`,
      [id, credit],
    );
    await this.client.query("INSERT INTO key_sums (key_no) SELECT no FROM keys WHERE id = $1", [id]);
    await this.client.query(
      `INSERT INTO entries (month, account_no, key_no, kind, amount, at_ms)
      SELECT 0, account_no, no, 'topup', $2::int8, 0 FROM keys WHERE id = $1`,
      [id, credit],
    );
    return id;
  }

  async join(options: Partial<JoinOptions> = {}): Promise<JoinedNode> {
    const folder = this.#keep(temporaryFolder());
    const proxy = this.#keep(new TcpProxy(options.port ?? this.database.server.port));
    const events: NodeEvent[] = [];
    this.#proxies.push(proxy);
    const url = this.#urlAt(proxy.port);
    const node = await PostgresNode.join({
      location: { url, password: null, prepare: options.prepare ?? true },
      name: "test",
      version: "1.0.0",
      dir: options.dir ?? folder.dir,
      timing: { ...shortTiming, ...options.timing },
      rules: moneyRules,
      report: (event) => events.push(event),
    });
    this.#nodes.push(node);
    return { node, proxy, events, dir: options.dir ?? folder.dir };
  }

  /** Rows that a clean end leaves none of. */
  async leftovers(): Promise<Record<string, number>> {
    const [row] = await this.client.query<Record<string, number>>(
      `SELECT (SELECT count(*)::int FROM holds) AS holds, (SELECT coalesce(sum(held), 0)::int FROM accounts) AS held,
        (SELECT count(*)::int FROM responses WHERE stored_at_ms IS NULL) AS claims`,
    );
    return row ?? {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.leave()));
    for (const disposable of this.#disposables) disposable[Symbol.dispose]();
    await this.client.close();
    await this.database[Symbol.asyncDispose]();
  }

  #urlAt(port: number): string {
    return this.database.url.replace(`:${this.database.server.port}/`, `:${port}/`);
  }

  #keep<Kept extends Disposable>(disposable: Kept): Kept {
    this.#disposables.push(disposable);
    return disposable;
  }
}

export interface JoinOptions {
  readonly dir: string;
  readonly timing: Partial<NodeTiming>;
  /** Where the database is reached, if not directly. */
  readonly port: number;
  readonly prepare: boolean;
}

export interface JoinedNode {
  readonly node: PostgresNode;
  readonly proxy: TcpProxy;
  readonly events: readonly NodeEvent[];
  readonly dir: string;
}

export function holdOrder(keyId: string, amount: number, overrides: Partial<HoldOrder> = {}): HoldOrder {
  return {
    holdId: newId("req_"),
    keyId,
    amount,
    nowMs: Date.now(),
    model: "house-model",
    requestedModel: null,
    labels: null,
    ...overrides,
  };
}

export function chargeOrder(
  { holdId, keyId, nowMs, model, requestedModel, labels }: HoldOrder,
  cost: number,
  overrides: Partial<ChargeOrder> = {},
): ChargeOrder {
  return {
    holdId,
    keyId,
    // The first key's account.
    accountNo: 1,
    openedAtMs: nowMs,
    periodStartMs: 0,
    countedAtMs: nowMs,
    atMs: nowMs,
    ...costing(cost),
    basis: "measured",
    outcome: "completed",
    model,
    requestedModel,
    labels,
    provider: "openai",
    record: usageRecord(keyId, { exchangeId: holdId, atMs: nowMs }),
    response: null,
    outcomeRecord: null,
    ...overrides,
  };
}

export function claimOrder(keyId: string, exchangeId: string, name = newId("idem_")): ClaimOrder {
  return {
    keyId,
    route: "/v1/chat/completions",
    idempotencyKey: name,
    bodyHash: "hash",
    exchangeId,
    atMs: Date.now(),
    notBeforeMs: 0,
  };
}

export function storedResponse(claim: ClaimOrder): StoredResponse {
  const { keyId, route, idempotencyKey, bodyHash } = claim;
  return {
    keyId,
    route,
    idempotencyKey,
    bodyHash,
    status: 200,
    headers: { "content-type": "application/json" },
    body: Buffer.from("{}"),
    storedAtMs: Date.now(),
  };
}
