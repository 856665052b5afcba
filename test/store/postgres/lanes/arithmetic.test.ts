import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/base/errors.ts";
import { newId } from "../../../../src/base/id.ts";
import { Account } from "../../../../src/ledger/account.ts";
import { Cap } from "../../../../src/ledger/cap.ts";
import { KeyFunds } from "../../../../src/ledger/key-funds.ts";
import { fundsOf } from "../../../../src/ledger/shared-accounts.ts";
import type { HoldDecision, HoldOrder } from "../../../../src/store/node.ts";
import { endOf, type HoldEnd, releaseOf } from "../../../../src/store/postgres/lanes/hold-end.ts";
import {
  type MoneyAnswer,
  type MoneyItem,
  sendMoney,
} from "../../../../src/store/postgres/lanes/money-batch.ts";
import { readAccounts } from "../../../../src/store/postgres/node/read-accounts.ts";
import { type BudgetPeriod, type CapRecord, emptyAccount, emptyKey } from "../../../../src/store/store.ts";
import { SeededRandom } from "../../../simulation/random.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { costing } from "../../../support/rates.ts";
import { keyRecord, usageRecord } from "../../fixtures.ts";
import { clientOf, migratedDatabase, type PostgresDatabase } from "../fixtures.ts";

const replay = process.env["SEED"];
const seeds =
  replay === undefined
    ? Array.from({ length: process.env["SLUICE_SOAK"] === "1" ? 20_000 : 500 }, (_, index) => index + 1)
    : [Number(replay)];
const steps = 30;
const mostAtOnce = 500;
const hourMs = 3_600_000;
const periods: readonly BudgetPeriod[] = ["none", "day", "week", "month"];

const models = ["house-model", "other-model", "cloud/other-model", "eu.maker.house-model"] as const;
const patterns = [null, "house-*", "*-model", "other-model"] as const;
let lastCapNo = 0;

interface OpenHold {
  readonly accountNo: number;
  readonly id: string;
  readonly funds: KeyFunds;
  readonly model: string;
  /** What would be charged if its node died now. */
  produced: number;
  readonly amount: number;
  readonly openedAtMs: number;
  readonly periodStartMs: number;
  readonly countedAtMs: number;
}

/** One account with its keys and caps, in TypeScript and in SQL, and a random history that both live through. */
class History {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly account: Account;
  readonly funds: readonly KeyFunds[];
  /** As the database's verdicts have it. */
  accountNo = 0;
  readonly open: OpenHold[] = [];
  nowMs = Date.UTC(2026, 2, 10, 20);
  lastHoldMs = this.nowMs;
  credited = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.random = new SeededRandom(seed);
    const isCredit = this.random.chance(0.5);
    const first = keyRecord({
      mode: isCredit ? "credit" : "token_budget",
      isOpen: isCredit && this.random.chance(0.3),
      budgetTokens: isCredit || this.random.chance(0.15) ? null : this.random.between(200, 3_000),
      period: isCredit ? "none" : (this.random.pick(periods) ?? "none"),
    });
    const totals = emptyAccount(first.accountId);
    this.account = new Account(first, totals, 0, this.#caps("account_cap"));
    this.funds = Array.from({ length: this.random.between(1, 3) }, (_, index) => {
      const { mode, isOpen, budgetTokens, period, accountId } = first;
      const key = index === 0 ? first : keyRecord({ mode, isOpen, budgetTokens, period, accountId });
      return new KeyFunds(key, this.account, emptyKey(key.id), this.#caps("key_cap"));
    });
    if (isCredit) this.credit(this.random.between(0, 2_000));
  }

  get terms() {
    return this.account.terms;
  }

  get accountId(): string {
    return this.funds[0]?.key.accountId ?? "";
  }

  get caps(): readonly { cap: CapRecord; keyId: string | null }[] {
    return [
      ...this.account.caps.map(({ record }) => ({ cap: record, keyId: null })),
      ...this.funds.flatMap(({ caps, key }) => caps.map(({ record }) => ({ cap: record, keyId: key.id }))),
    ];
  }

  #caps(bound: Cap["bound"]): Cap[] {
    const count = this.random.chance(0.4) ? 0 : this.random.between(1, 2);
    return Array.from({ length: count }, () => {
      lastCapNo += 1;
      const record: CapRecord = {
        no: lastCapNo,
        limit: this.random.between(0, 2_500),
        period: this.random.pick(["day", "week", "month"] as const) ?? "day",
        models: this.random.pick(patterns) ?? null,
        extra: this.random.chance(0.2) ? this.random.between(1, 500) : 0,
        extraPeriodMs: Date.UTC(2026, 2, 10),
      };
      return new Cap(record, bound, { periodStartMs: 0, used: 0 });
    });
  }

  credit(amount: number): void {
    this.account.credit(amount);
    this.credited += amount;
  }

  /** What the operator does, for the next statement: an entry, or another budget. */
  operate(): void {
    if (this.random.chance(0.3)) this.nowMs += this.random.between(-30, 60) * hourMs;
    if (this.terms.mode === "credit") {
      const { posted } = this.account;
      if (this.random.chance(0.3)) this.credit(Math.max(-posted, this.random.between(-300, 600)));
    } else if (this.random.chance(0.2)) {
      this.account.terms = { ...this.terms, budgetTokens: this.random.between(100, 4_000) };
    }
  }

  holds(): HoldOrder[] {
    return Array.from({ length: this.random.between(0, 3) }, () => ({
      holdId: newId("req_"),
      keyId: this.random.pick(this.funds)?.key.id ?? "",
      amount: this.random.between(0, 500),
      nowMs: this.nowMs,
      model: this.random.pick(models) ?? "",
      requestedModel: null,
      labels: null,
    }));
  }

  fundsOf(keyId: string): KeyFunds {
    const funds = this.funds.find(({ key }) => key.id === keyId);
    if (funds === undefined) throw new Error(`no key ${keyId}`);
    return funds;
  }

  /** The same in TypeScript. */
  decide({ holdId, keyId, amount, model }: HoldOrder) {
    this.lastHoldMs = this.nowMs;
    const funds = this.fundsOf(keyId);
    try {
      const hold = this.account.hold(amount, this.nowMs, funds.capsFor(model));
      const { accountNo, nowMs: openedAtMs } = this;
      this.open.push({ id: holdId, accountNo, funds, model, produced: 0, openedAtMs, ...hold });
      return { decision: "held" as const, error: null, hold };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return { decision: decisionOf(error), error, hold: null };
    }
  }

  /** What is left of every bound that it falls under. */
  remaining({ keyId, model }: HoldOrder): number {
    const caps = this.fundsOf(keyId).capsFor(model);
    return Math.min(this.account.remaining(), ...caps.map((cap) => cap.remaining()));
  }

  #release(hold: OpenHold): void {
    this.account.release(hold, hold.funds.capsFor(hold.model));
  }

  settle(hold: OpenHold, cost: number, atMs: number, isLost = false) {
    const { owed: _, ...settled } = this.account.settle(
      { ...hold, isLost, amount: isLost ? 0 : hold.amount },
      cost,
      hold.funds.capsFor(hold.model),
    );
    hold.funds.charge(settled.charged, atMs);
    return settled;
  }

  /** Ends some of its holds, in SQL and in TypeScript. */
  ends(): { end: HoldEnd; expected: { charged: number; overrun: number } }[] {
    const count = Math.min(this.open.length, this.random.between(0, 3));
    return Array.from({ length: count }, () => {
      const [hold] = this.open.splice(this.random.between(0, this.open.length - 1), 1);
      if (hold === undefined) throw new Error("there is one");
      if (this.random.chance(0.25)) {
        this.#release(hold);
        return { end: releaseOf(hold.id, hold.funds.key.id), expected: { charged: 0, overrun: 0 } };
      }
      return this.#settle(hold);
    });
  }

  /** What open holds have produced meanwhile. */
  progress(): [string, number][] {
    const producing = this.open.filter(() => this.random.chance(0.3));
    for (const hold of producing) hold.produced += this.random.between(1, 60);
    return producing.map(({ id, produced }) => [id, produced]);
  }

  /** Its node is dead: what was produced is charged, in the order of the ids, and the rest is released. */
  interrupt(atMs: number): { hold: OpenHold; paid: number; unpaid: number }[] {
    return this.open
      .splice(0)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((hold) => {
        if (hold.produced === 0) {
          this.#release(hold);
          return { hold, paid: 0, unpaid: 0 };
        }
        const { charged, overrun } = this.settle(hold, hold.produced, atMs);
        return { hold, paid: charged, unpaid: overrun };
      });
  }

  #settle(hold: OpenHold) {
    const cost = this.random.chance(0.25)
      ? hold.amount + this.random.between(1, 700)
      : this.random.between(0, hold.amount);
    const isRecorded = this.random.chance(0.7);
    const { model, funds } = hold;
    const record = isRecorded
      ? usageRecord(funds.key.id, { exchangeId: hold.id, atMs: this.nowMs, model })
      : null;
    const expected = this.settle(hold, cost, this.nowMs);
    if (record !== null) {
      funds.count({ ...record, costNano: this.terms.mode === "credit" ? expected.charged : 0 });
    }
    const outcome = isRecorded ? "completed" : "cancelled";
    const end = endOf({ ...orderOf(hold), ...costing(cost), atMs: this.nowMs, outcome, record });
    return { end, expected };
  }
}

function orderOf({ id, accountNo, funds, model, openedAtMs, periodStartMs, countedAtMs }: OpenHold) {
  return {
    holdId: id,
    keyId: funds.key.id,
    accountNo,
    openedAtMs,
    periodStartMs,
    countedAtMs,
    basis: "measured",
    model,
    requestedModel: null,
    labels: null,
    provider: "openai",
    response: null,
    outcomeRecord: null,
  } as const;
}

function decisionOf({ code, message }: GatewayError): HoldDecision {
  if (code === "balance_temporarily_reserved") return "reserved";
  if (code === "limit_reached" || message.includes("used up")) return "used_up";
  return "too_little";
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("the arithmetic in SQL", () => {
    let database: PostgresDatabase;
    beforeAll(async () => {
      database = await migratedDatabase();
    });
    afterAll(() => database[Symbol.asyncDispose]());

    test(
      `is that of Account in TypeScript, operation by operation, in ${seeds.length} random histories`,
      async () => {
        const client = clientOf(database.url, { max: 1 });
        const { query } = client;
        for (let from = 0; from < seeds.length; from += mostAtOnce) {
          const node = await joinNode(query);
          let sequence = 0;
          const compare = (what: readonly ("holds" | "ends")[]) => {
            sequence += 1;
            return compareBatch(query, [node, 1, sequence], histories, what);
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
          await compareTakeover(query, node, histories);
        }
        await client.close();
      },
      { timeout: 24 * hourMs },
    );
  });

type Query = ReturnType<typeof clientOf>["query"];
type Batch = readonly [number, number, number];

async function insertAccounts(query: Query, histories: readonly History[]): Promise<void> {
  const funds = histories.flatMap((history) => history.funds);
  await query(
    `INSERT INTO accounts (id, mode, is_open, budget_tokens, period, created_at_ms)
    SELECT id, mode, is_open::int, budget::int8, period, 0
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS account (id, mode, is_open, budget, period)`,
    [
      histories.map(({ accountId }) => accountId),
      histories.map(({ terms }) => terms.mode),
      histories.map(({ terms }) => (terms.isOpen ? "1" : "0")),
      histories.map(({ terms }) => (terms.budgetTokens === null ? null : String(terms.budgetTokens))),
      histories.map(({ terms }) => terms.period),
    ],
  );
  await query(
    `INSERT INTO keys (id, account_no, hash, prefix, status, scope, created_at_ms, revision)
    SELECT key.id, (SELECT no FROM accounts WHERE accounts.id = account), key.id, 'slu_', 'active', 'all', 0, 0
    FROM unnest($1::text[], $2::text[]) AS key (id, account)`,
    [funds.map(({ key }) => key.id), funds.map(({ key }) => key.accountId)],
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
  query: Query,
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
  const answers = await sendMoney(query, batch, items);
  if (isRepeated(batch)) expect((await sendMoney(query, batch, items)).map(gist)).toEqual(answers.map(gist));
  for (const [index, { history, expected }] of ended.entries()) {
    expect({ seed: history.seed, ...answers[asked.length + index] }).toEqual({
      seed: history.seed,
      ...expected,
    });
  }
  for (const [index, { history, order }] of asked.entries()) compareVerdict(history, order, answers[index]);
}

function compareVerdict(history: History, order: HoldOrder, answer: MoneyAnswer | undefined): void {
  if (answer === undefined || !("decision" in answer)) throw new Error("a hold has a verdict");
  history.accountNo = answer.accountNo;
  const { decision, error, hold } = history.decide(order);
  const seen = { seed: history.seed, decision: answer.decision, remaining: answer.remaining };
  expect(seen).toEqual({ seed: history.seed, decision, remaining: history.remaining(order) });
  if (hold !== null) {
    const { periodStartMs, countedAtMs } = answer;
    expect({ periodStartMs, countedAtMs }).toEqual({
      periodStartMs: hold.periodStartMs,
      countedAtMs: hold.countedAtMs,
    });
    return;
  }
  // Both name the same bound, and say the same of it.
  const { kind, limit, used } = answer.bound;
  const details = error.vendor?.details;
  const unit = history.terms.mode === "credit" ? 1e9 : 1;
  expect({ seed: history.seed, kind, limit, used }).toEqual({
    seed: history.seed,
    kind: details?.["bound"] as never,
    limit: details?.["limit"] == null ? null : Math.round(Number(details["limit"]) * unit),
    used: Math.round(Number(details?.["used"]) * unit),
  });
}

/** What must be the same when a batch is repeated: balances may have moved on. */
function gist(answer: MoneyAnswer): unknown {
  return "decision" in answer ? answer.decision : answer;
}

/** Some batches are sent twice under their number, as after a lost reply: the second time changes nothing. */
function isRepeated([, , sequence]: Batch): boolean {
  return sequence % 4 === 0;
}

/**
 * The node dies with its holds open. Another takes over; then the dead one's charges come nevertheless, as from its
 * file, and only what is missing of them is charged.
 */
async function compareTakeover(query: Query, dead: number, histories: readonly History[]): Promise<void> {
  const taker = await joinNode(query);
  await query("SELECT sluice_fence($1, $2)", [dead, taker]);
  for (let ended = 1; ended > 0; ) {
    const [row] = await query<{ ended: number }>("SELECT ended FROM sluice_clear_dead_nodes($1, 100)", [
      taker,
    ]);
    ended = row?.ended ?? 0;
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
      const answers = await sendMoney(query, [taker, 1, index / 8 + 1], [{ kind: "end", end }]);
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
    const inSql = fundsOf(funds.key, state).summary(history.lastHoldMs);
    expect({ seed: history.seed, ...inSql }).toEqual({
      seed: history.seed,
      ...funds.summary(history.lastHoldMs),
    });
  }
}
