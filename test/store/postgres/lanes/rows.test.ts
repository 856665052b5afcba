import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limitError } from "../../../../src/ledger/hold-errors.ts";
import { fundsOf } from "../../../../src/ledger/shared-accounts.ts";
import { moneyRules } from "../../../../src/ledger/shared-batch.ts";
import type { HoldOrder } from "../../../../src/store/node.ts";
import type { PostgresClient } from "../../../../src/store/postgres/client.ts";
import { failureOf } from "../../../../src/store/postgres/lanes/failure.ts";
import { endOf } from "../../../../src/store/postgres/lanes/hold-end.ts";
import {
  type MoneyConnection,
  type MoneyItem,
  type MoneyResponse,
  sendMoney,
} from "../../../../src/store/postgres/lanes/money-batch.ts";
import { deadEnds } from "../../../../src/store/postgres/node/node-life.ts";
import { readAccounts } from "../../../../src/store/postgres/node/read-accounts.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { costing } from "../../../support/rates.ts";
import { clientOf, connectionOf, migratedDatabase, type PostgresDatabase } from "../fixtures.ts";
import { History, orderOf } from "./history.ts";

const replay = process.env["SEED"];
const seeds =
  replay === undefined
    ? Array.from({ length: process.env["SLUICE_SOAK"] === "1" ? 20_000 : 500 }, (_, index) => index + 1)
    : [Number(replay)];
const steps = 30;
const mostAtOnce = 500;
const hourMs = 3_600_000;
const lockMs = 30_000;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("what batches write and read back", () => {
    let database: PostgresDatabase;
    beforeAll(async () => {
      database = await migratedDatabase();
    });
    afterAll(() => database[Symbol.asyncDispose]());

    test(
      `is what accounts in memory have, operation by operation, in ${seeds.length} random histories`,
      async () => {
        const client = clientOf(database.url, { max: 1 });
        const { query } = client;
        const connection = connectionOf(client);
        for (let from = 0; from < seeds.length; from += mostAtOnce) {
          const node = await joinNode(query);
          let sequence = 0;
          const compare = (what: readonly ("holds" | "ends")[]) => {
            sequence += 1;
            return compareBatch(connection, [node, 1, sequence], histories, what);
          };
          const histories = seeds.slice(from, from + mostAtOnce).map((seed) => new History(seed));
          await insertAccounts(query, histories);
          for (let step = 0; step < steps; step += 1) {
            for (const history of histories) history.operate();
            await updateAccounts(query, histories);
            if (step % 3 > 0) await compare(["ends", "holds"]);
            else for (const what of ["holds", "ends"] as const) await compare([what]);
            if (step % 10 === 9) await compareAccounts(query, histories);
          }
          await compareTakeover(client, node, histories);
        }
        await client.close();
      },
      { timeout: 24 * hourMs },
    );
  });

type Query = ReturnType<typeof clientOf>["query"];
type Batch = readonly [number, number | null, number];

async function insertAccounts(query: Query, histories: readonly History[]): Promise<void> {
  const funds = histories.flatMap((history) => history.funds);
  await query(
    `INSERT INTO accounts (id, mode, is_open, budget_tokens, period, created_at_ms)
    SELECT id, mode, is_open::int, budget::int8, period, 0
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS account (id, mode, is_open, budget, period)`,
    [
      histories.map(({ accountId }) => accountId),
      histories.map(({ terms }) => terms.mode),
      histories.map(({ terms }) => (terms.isPostpaid ? "1" : "0")),
      histories.map(({ terms }) => (terms.budgetTokens === null ? null : String(terms.budgetTokens))),
      histories.map(({ terms }) => terms.period),
    ],
  );
  await query(
    `INSERT INTO keys (id, account_no, hash, prefix, status, scope, created_at_ms, revision)
    SELECT key.id, (SELECT no FROM accounts WHERE accounts.id = account), key.id, 'slu_', 'active', 'all', 0, 0
    FROM unnest($1::text[], $2::text[]) AS key (id, account)`,
    [funds.map(({ key }) => key.id), funds.map(({ account }) => account.id)],
  );
  await query("INSERT INTO key_sums (key_no) SELECT no FROM keys ON CONFLICT DO NOTHING");
  const caps = histories.flatMap((history) => history.caps.map((cap) => ({ history, ...cap })));
  await query(
    `INSERT INTO caps (no, account_no, key_no, amount, period, models, extra, extra_period_ms) OVERRIDING SYSTEM VALUE
    SELECT no::int, (SELECT accounts.no FROM accounts WHERE accounts.id = account), (SELECT keys.no FROM keys WHERE keys.id = key),
      amount::int8, period, models, extra::int8, $8::int8
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
      AS cap (no, account, key, amount, period, models, extra)`,
    [
      caps.map(({ cap }) => String(cap.no)),
      caps.map(({ history, keyId }) => (keyId === null ? history.accountId : null)),
      caps.map(({ keyId }) => keyId),
      caps.map(({ cap }) => String(cap.limit)),
      caps.map(({ cap }) => cap.period),
      caps.map(({ cap }) => cap.models),
      caps.map(({ cap }) => String(cap.extra)),
      Date.UTC(2026, 2, 10),
    ],
  );
}

async function updateAccounts(query: Query, histories: readonly History[]): Promise<void> {
  await query(
    `UPDATE accounts SET posted = posted + account.credited, purchased = purchased + account.credited, budget_tokens = account.budget
    FROM unnest($1::text[], $2::int8[], $3::int8[]) AS account (id, credited, budget) WHERE accounts.id = account.id`,
    [
      histories.map(({ accountId }) => accountId),
      histories.map(({ credited }) => credited),
      histories.map(({ terms }) => terms.budgetTokens),
    ],
  );
  for (const history of histories) history.credited = 0;
}

/** Holds are ended before others are opened. */
async function compareBatch(
  connection: MoneyConnection,
  batch: Batch,
  histories: readonly History[],
  what: readonly ("holds" | "ends")[],
): Promise<void> {
  const ended = what.includes("ends")
    ? histories.flatMap((history) => history.ends().map((end) => ({ history, ...end })))
    : [];
  const progress = what.includes("ends") ? histories.flatMap((history) => history.progress()) : [];
  const notes = new Map(progress.map(([id, soFar]) => [id, costing(soFar)]));
  const asked = what.includes("holds")
    ? histories.flatMap((history) => history.holds().map((order) => ({ history, order })))
    : [];
  const items: MoneyItem[] = [
    ...asked.map(({ order }) => ({ kind: "hold" as const, order })),
    ...ended.map(({ end }) => ({ kind: "end" as const, end })),
    { kind: "progress", notes },
  ];
  const answers = await send(connection, batch, items);
  if (isRepeated(batch)) expect(await sendMoney(connection, batch, items)).toEqual(answers);
  for (const [index, { history, expected }] of ended.entries()) {
    expect({ seed: history.seed, ...answers[asked.length + index] }).toEqual({
      seed: history.seed,
      ...expected,
    });
  }
  for (const [index, { history, order }] of asked.entries()) compareVerdict(history, order, answers[index]);
}

function compareVerdict(history: History, order: HoldOrder, answer: MoneyResponse | undefined): void {
  if (answer === undefined || !("decision" in answer)) throw new Error("a hold has a verdict");
  if (answer.decision === "held") history.accountNo = answer.accountNo;
  const { decision, error, hold } = history.decide(order);
  expect({ seed: history.seed, decision: answer.decision }).toEqual({ seed: history.seed, decision });
  if (answer.decision === "held") {
    const { remaining, periodStartMs, countedAtMs } = answer;
    expect({ seed: history.seed, remaining, periodStartMs, countedAtMs }).toEqual({
      seed: history.seed,
      remaining: history.remaining(order),
      periodStartMs: hold?.periodStartMs ?? -1,
      countedAtMs: hold?.countedAtMs ?? -1,
    });
    return;
  }
  if (!("state" in answer) || error === null) throw new Error("a limit denies it");
  // Both name the same limit, and say the same of it.
  const expected = limitError(
    { denial: answer.decision, state: answer.state },
    history.terms.mode,
    order.amount,
    order.nowMs,
  );
  expect({ seed: history.seed, message: expected.message, vendor: expected.vendor }).toEqual({
    seed: history.seed,
    message: error.message,
    vendor: error.vendor,
  });
}

/** As a lane does: on a busy machine the database may give up waiting for what was decided about so many items. */
async function send(connection: MoneyConnection, batch: Batch, items: readonly MoneyItem[]) {
  for (;;) {
    try {
      return await sendMoney(connection, batch, items, lockMs);
    } catch (error) {
      if (failureOf(error) !== "unreachable") throw error;
    }
  }
}

/** Some batches are sent twice under their number, as after a lost reply: the second time changes nothing. */
function isRepeated([, , sequence]: Batch): boolean {
  return sequence % 4 === 0;
}

/**
 * The node dies with its holds open. Another takes over; then the dead one's charges come nevertheless, as from its
 * file, and only what is missing of them is charged.
 */
async function compareTakeover(
  client: PostgresClient,
  dead: number,
  histories: readonly History[],
): Promise<void> {
  const { query } = client;
  const connection = connectionOf(client);
  const taker = await joinNode(query);
  await query("SELECT sluice_fence($1, $2)", [dead, taker]);
  for (;;) {
    const ends = await deadEnds(query, moneyRules, 100);
    if (ends.length === 0) break;
    const items = ends.map((end) => ({ kind: "end", end }) as const);
    await send(connection, [taker, null, 0], items);
  }
  const atMs = await momentOfTakeover(query, taker);
  const interrupted = histories.flatMap((history) =>
    history.interrupt(atMs).map((end) => ({ history, ...end })),
  );
  await compareAccounts(query, histories);
  for (const [index, { history, hold, paid, unpaid }] of interrupted.entries()) {
    if (index % 8 !== 0) continue;
    const cost = history.random.between(0, hold.amount + 200);
    const rest = cost - paid - unpaid;
    // As if it had held nothing; what is left of a past period is not known, so that is paid.
    const late = rest <= 0 ? { charged: 0, overrun: 0 } : history.settle(hold, rest, atMs, true);
    const end = endOf({
      ...orderOf(hold),
      ...costing(cost),
      atMs,
      outcome: "cancelled",
      record: null,
    });
    const expected = { charged: paid + late.charged, overrun: unpaid + late.overrun };
    for (let time = 0; time < 2; time += 1) {
      const answers = await sendMoney(connection, [taker, 1, index / 8 + 1], [{ kind: "end", end }]);
      expect(answers).toEqual([expected]);
    }
  }
  await compareAccounts(query, histories);
}

async function joinNode(query: Query): Promise<number> {
  const [joined] = await query<{ no: number }>("SELECT sluice_join('test', '1', 3600000, 3) AS no");
  return joined?.no ?? 0;
}

/** Charges of a takeover are dated by the database. */
async function momentOfTakeover(query: Query, taker: number): Promise<number> {
  const [row] = await query<{ atMs: number }>(
    `SELECT max(at_ms)::float8 AS "atMs" FROM entries WHERE node_no = $1 AND outcome = 'interrupted'`,
    [taker],
  );
  return row?.atMs ?? 0;
}

async function compareAccounts(query: Query, histories: readonly History[]): Promise<void> {
  const allFunds = histories.flatMap((history) => history.funds.map((funds) => ({ history, funds })));
  const states = await readAccounts(
    query,
    allFunds.map(({ funds }) => funds.key.id),
  );
  for (const [index, { history, funds }] of allFunds.entries()) {
    const state = states[index];
    if (state == null) throw new Error(`seed ${history.seed} has no account`);
    const stored = fundsOf(funds.key, state).summary(history.lastHoldMs);
    expect({ seed: history.seed, ...stored }).toEqual({
      seed: history.seed,
      ...funds.summary(history.lastHoldMs),
    });
  }
}
