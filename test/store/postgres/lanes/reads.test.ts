import { expect, test } from "bun:test";
import { moneyRules } from "../../../../src/ledger/shared-batch.ts";
import type { HoldOrder } from "../../../../src/store/node.ts";
import type { Query } from "../../../../src/store/postgres/client.ts";
import { sendClaims } from "../../../../src/store/postgres/lanes/claim-batch.ts";
import { endOf } from "../../../../src/store/postgres/lanes/hold-end.ts";
import {
  type MoneyConnection,
  type MoneyItem,
  sendMoney,
} from "../../../../src/store/postgres/lanes/money-batch.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { chargeOrder, holdOrder, NodeWorld } from "../node/world.ts";

const rows = 3_000;
const items = 20;
/** Every statement of a function may look up an item's rows again, but not other items' rows. */
const mostReadsPerItem = 25;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("a batch reads as many rows as it has items, however many there are", async () => {
    await using world = await NodeWorld.create();
    const { client } = world;
    const [joined] = await client.query<{ no: number }>("SELECT sluice_join('test', '1', 3600000, 3) AS no");
    const node = joined?.no ?? 0;
    const keyId = await world.addKey(1_000_000);
    const orders = Array.from({ length: items }, () => holdOrder(keyId, 10));
    const holds = orders.map(asHold);
    const ends = orders.map((order) => asEnd(order, 15));
    const others = Array.from({ length: items }, () => asHold(holdOrder(keyId, 10)));
    const claims = orders.map(({ holdId }) => ({
      kind: "claim" as const,
      keyId,
      route: "/v1/messages",
      idempotencyKey: holdId,
      bodyHash: "hash",
      exchangeId: holdId,
      atMs: 1,
      notBeforeMs: 0,
    }));
    // Plans are made while the tables are known to be empty, and kept.
    await client.query("VACUUM ANALYZE");
    await client.transaction(async (query) => {
      const connection = within(query);
      const first = holdOrder(keyId, 10);
      await sendMoney(connection, [node, 1, 1], [asHold(first)]);
      for (let time = 0; time < 2; time += 1)
        await sendMoney(connection, [node, 1, 2], [asEnd(first, 5), asHold(holdOrder(keyId, 10))]);
      await sendClaims(query, [node, 3, 1], []);
      await query(fill, [rows, node]);
      for (const [name, work] of [
        ["hold", () => sendMoney(connection, [node, 1, 3], holds)],
        ["hold again", () => sendMoney(connection, [node, 1, 3], holds)],
        ["settle and hold", () => sendMoney(connection, [node, 1, 4], [...ends, ...others])],
        ["settle and hold again", () => sendMoney(connection, [node, 1, 4], [...ends, ...others])],
        ["settle late", () => sendMoney(connection, [node, 1, 5], ends)],
        ["claim", () => sendClaims(query, [node, 3, 2], claims)],
        ["claim again", () => sendClaims(query, [node, 3, 2], claims)],
      ] as const) {
        const before = await readSoFar(query);
        await work();
        const read = (await readSoFar(query)) - before;
        expect({ name, isTooMuch: read > items * mostReadsPerItem ? read : false }).toEqual({
          name,
          isTooMuch: false,
        });
      }
    });
  }, 120_000);

if (hasPostgres)
  test("no plan that is forced on the database is compiled: with costs that are made up, that takes a second", async () => {
    await using world = await NodeWorld.create();
    const forced = await world.client.query<{ name: string; compiles: boolean }>(
      `SELECT proname AS name, NOT proconfig @> '{jit=off}' AS compiles FROM pg_proc WHERE proconfig @> '{enable_seqscan=off}'`,
    );
    expect(forced.map(({ name }) => name)).toContain("sluice_lock_batch");
    expect(forced.filter(({ compiles }) => compiles)).toEqual([]);
  });

/** All batches in one transaction, which counts what it reads. */
function within(query: Query): MoneyConnection {
  const script = <Row>(text: string) =>
    query<Row>(text.replace(/^BEGIN; |; COMMIT$|ROLLBACK/, "") || "SELECT");
  return { client: { script }, rules: moneyRules };
}

function asHold(order: HoldOrder): MoneyItem {
  return { kind: "hold", order };
}

function asEnd(order: HoldOrder, cost: number): MoneyItem {
  return { kind: "end", end: endOf(chargeOrder(order, cost)) };
}

async function readSoFar(query: Query): Promise<number> {
  const [row] = await query<{ reads: number }>(
    "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS reads FROM pg_stat_xact_user_tables",
  );
  return row?.reads ?? 0;
}

const fill = `
WITH made AS (
  INSERT INTO accounts (id, mode, period, created_at_ms) SELECT 'acc_' || i, 'credit', 'none', 0 FROM generate_series(1, $1::int) i
  RETURNING no, id
), given AS (
  INSERT INTO keys (id, account_no, hash, prefix, status, scope, created_at_ms, revision)
  SELECT 'key_' || id, no, id, 'slu_', 'active', 'all', 0, 0 FROM made RETURNING no, account_no
), held AS (
  INSERT INTO holds (id, account_no, key_no, node_no, amount, period_start_ms, opened_at_ms, model)
  SELECT 'req_hold_' || no, account_no, no, $2::int, 0, 0, 0, 'm' FROM given
), claimed AS (
  INSERT INTO responses (key_no, route, idempotency_key, body_hash) SELECT no, '/v1/messages', 'name', 'hash' FROM given
)
INSERT INTO entries (month, account_no, key_no, kind, amount, at_ms, exchange_id, outcome)
SELECT sluice_month((extract(epoch FROM clock_timestamp()) * 1000)::int8), account_no, no, kind, 0, 0, 'req_' || no, 'completed'
FROM given, (VALUES ('charge'), ('overrun')) AS kinds (kind)`;
