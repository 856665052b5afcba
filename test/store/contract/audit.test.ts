import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock, utcDay } from "../../../src/base/clock.ts";
import { audit } from "../../../src/ledger/audit.ts";
import type { Store } from "../../../src/store/store.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { attempt } from "../attempts.ts";
import { keyRecord, outcomeRecordOf, type SettleItem, settleItem } from "../fixtures.ts";
import type { GatewayStore } from "../kind.ts";
import { clientOf, rollUpAll } from "../postgres/fixtures.ts";
import { postgres } from "../postgres/kind.ts";
import { sqlite } from "../sqlite/kind.ts";

const nowMs = Date.UTC(2026, 10, 16, 13, 30);
const monthMs = Date.UTC(2026, 10);

const nextOfSqlite = "(SELECT max(id) + 1 FROM entries)";

/** A ledger, and a second connection that changes its database by hand. */
interface Forged extends AsyncDisposable {
  readonly store: Store;
  run(statement: string): Promise<void>;
}

async function forgedSqlite(): Promise<Forged> {
  const database = await sqlite.create();
  const before = await database.openGateway(systemClock);
  await fill(before);
  await before.reports.keyLastDays([]);
  await before.close();
  const store = await database.openGateway(systemClock);
  const intruder = new Database(join(database.dir, "reports.db"));
  intruder.query("ATTACH ? AS ledger").run(join(database.dir, "sluice.db"));
  intruder.run("PRAGMA foreign_keys = off");
  for (const trigger of [
    "entries_are_never_changed",
    "entries_are_never_deleted",
    "rates_are_never_changed",
  ]) {
    intruder.run(`DROP TRIGGER ${trigger}`);
  }
  return {
    store,
    run: async (statement) => void intruder.run(statement),
    async [Symbol.asyncDispose]() {
      intruder.close();
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

async function forgedPostgres(): Promise<Forged> {
  const database = await postgres.create();
  const store = await database.openGateway(systemClock);
  await fill(store);
  const client = clientOf(database.url, { max: 1 });
  await rollUpAll(client);
  await client.query("DROP TRIGGER entries_are_only_added ON entries");
  await client.query("DROP TRIGGER rates_are_only_added ON rates");
  return {
    store,
    run: async (statement) =>
      void (await client.script(statement.replaceAll(nextOfSqlite, "nextval('entries_id_seq')"))),
    async [Symbol.asyncDispose]() {
      await client.close();
      await store.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Entries 1 and 2 are top-ups; 3 to 6 charges of the first key, 7 one of a token budget. */
async function fill(store: GatewayStore): Promise<void> {
  const [one, two] = [keyRecord(), keyRecord()];
  const budget = keyRecord({ mode: "token_budget", period: "month" });
  await store.insertKey(one, 1_000);
  await store.insertKey(two, 1_000);
  await store.insertKey(budget, 0);
  const at = (item: SettleItem) => {
    const { record, charge } = item;
    return { ...item, record: record && { ...record, atMs: charge.atMs - 81, costNano: record.costNano } };
  };
  await store.charge([
    at(settleItem(one.id, 60, { atMs: nowMs - 60_000, labels: '{"owner":"ada"}' })),
    at(settleItem(one.id, 40, { atMs: nowMs - 60_000 })),
    at(settleItem(one.id, 30, { atMs: nowMs - 86_400_000, overrun: 4 })),
    { ...settleItem(one.id, 7, { atMs: nowMs, outcome: "cancelled" }), record: null },
    withoutCost(at(settleItem(budget.id, 55, { atMs: nowMs, periodStartMs: monthMs, listCostNano: 55 }))),
  ]);
  const lost = attempt({ outcome: "uncharged", owedNanoUsd: 0 });
  await store.recordOutcomes([outcomeRecordOf(one.id)], [{ ...lost, day: utcDay(nowMs) }]);
  const caps = [{ limit: 500, period: "month", models: null }] as const;
  await store.setCaps({ keyId: one.id }, caps, nowMs);
  await store.setCaps({ accountId: one.accountId }, caps, nowMs);
  await store.insertValueCap(
    {
      ...{
        id: "cap_1",
        keyId: null,
        accountId: null,
        mode: "credit",
        label: "owner",
        value: null,
        limit: 500,
      },
      ...{
        period: "month",
        models: null,
        isOptional: false,
        maxValues: 10,
        thenModel: null,
        thenAlways: false,
      },
    },
    nowMs,
  );
}

function withoutCost(item: SettleItem): SettleItem {
  return { ...item, record: item.record && { ...item.record, costNano: 0 } };
}

interface Forgery {
  readonly name: string;
  readonly statement: string;
  readonly fields: readonly string[];
  /** It shows in the entry itself, and not only in sums. */
  readonly inEntry?: true;
  readonly deep?: true;
}

const forgeries: readonly Forgery[] = [
  {
    name: "an amount that was moved to another charge of the same account",
    statement:
      "UPDATE entries SET amount = CASE amount WHEN -60 THEN -61 ELSE -39 END WHERE amount IN (-60, -40)",
    fields: ["cost_nano", "amount"],
    inEntry: true,
  },
  {
    name: "amounts that were moved together with their usage records",
    statement: `UPDATE entries SET amount = CASE amount WHEN -60 THEN -61 ELSE -39 END,
      cost_nano = CASE amount WHEN -60 THEN 61 ELSE 39 END WHERE amount IN (-60, -40)`,
    fields: ["amount"],
    inEntry: true,
  },
  {
    name: "a cost in the usage record that is not what was charged",
    statement: "UPDATE entries SET cost_nano = 41 WHERE amount = -40",
    fields: ["cost_nano"],
    inEntry: true,
  },
  {
    name: "a list price of a budget's charge that does not follow from its rates",
    statement: "UPDATE entries SET list_cost_nano = 54 WHERE amount = -55",
    fields: ["list_cost_nano"],
    inEntry: true,
  },
  {
    name: "an overrun that is not what the balance lacked",
    statement: "UPDATE entries SET amount = 5 WHERE kind = 'overrun'",
    fields: ["amount"],
    inEntry: true,
  },
  {
    name: "an overrun that is less than what the balance lacked",
    statement: "UPDATE entries SET amount = 3 WHERE kind = 'overrun'",
    fields: ["amount"],
    inEntry: true,
  },
  {
    name: "what a charge was for",
    statement: `UPDATE entries SET quantities = '{"output":59}' WHERE amount = -60`,
    fields: ["amount"],
    inEntry: true,
  },
  {
    name: "rates that are not those of their id",
    statement: "UPDATE rates SET rates = replace(rates, '1000', '1001')",
    fields: ["rates"],
    inEntry: true,
  },
  {
    name: "a charge in another month's budget",
    statement: `UPDATE entries SET period_start_ms = ${Date.UTC(2026, 9)} WHERE amount = -55`,
    fields: ["period_start_ms"],
    inEntry: true,
  },
  {
    name: "a charge that was moved to another key",
    statement: "UPDATE entries SET key_no = 2 WHERE amount = -40",
    fields: ["spend_nano"],
  },
  {
    name: "a charge that was moved to another hour",
    statement: "UPDATE entries SET at_ms = at_ms - 7200000 WHERE amount = -40",
    fields: ["spend_nano"],
  },
  {
    name: "a charge that was moved by some minutes",
    statement: "UPDATE entries SET at_ms = at_ms - 120000 WHERE amount = -30",
    fields: ["at_ms"],
    inEntry: true,
    deep: true,
  },
  {
    name: "a charge that was moved to another account",
    statement: "UPDATE entries SET account_no = 2 WHERE amount = -40",
    fields: ["posted", "used"],
  },
  {
    name: "what a key's cap has used",
    statement: "UPDATE caps SET used = used - 1 WHERE key_no IS NOT NULL",
    fields: ["used"],
  },
  {
    name: "what an account's cap has used",
    statement: "UPDATE caps SET used = 0 WHERE account_no IS NOT NULL",
    fields: ["used"],
  },
  {
    name: "what a value of a cap has used",
    statement: "UPDATE cap_values SET used = used - 1",
    fields: ["used"],
  },
  {
    name: "a value that its cap no longer counts",
    statement: "UPDATE cap_values SET value = 'ben'",
    fields: ["used"],
  },
  {
    name: "a charge that was moved to another owner",
    statement: `UPDATE entries SET labels = '{"owner":"ben"}' WHERE amount = -60`,
    fields: ["used"],
  },
  {
    name: "a sum by the hour",
    statement: "UPDATE usage_hours SET spend_nano = spend_nano + 1 WHERE spend_nano = 30 AND key_no > 0",
    fields: ["spend_nano"],
  },
  {
    name: "a sum of all keys",
    statement: "UPDATE usage_hours SET rejected = rejected + 1 WHERE spend_nano = 30 AND key_no = 0",
    fields: ["rejected"],
  },
  {
    name: "a key's sums that are gone",
    statement: "DELETE FROM key_sums WHERE key_no = 2",
    fields: ["rows"],
  },
  {
    name: "what a key has spent",
    statement: "UPDATE key_sums SET spent = spent - 1 WHERE key_no = 1",
    fields: ["spent"],
  },
  {
    name: "what a provider was asked for",
    statement: "UPDATE attempt_sums SET output_tokens = output_tokens + 1",
    fields: ["output_tokens"],
  },
  {
    name: "what a provider was asked for, and is gone",
    statement: "DELETE FROM attempt_sums",
    fields: ["attempts"],
  },
  {
    name: "entries whose key is gone",
    statement: "DELETE FROM keys WHERE no = 1",
    fields: ["key"],
    inEntry: true,
  },
  {
    name: "entries of a key that there never was",
    statement: "UPDATE entries SET key_no = 77, account_no = 1 WHERE amount = -40",
    fields: ["key"],
    inEntry: true,
  },
  {
    name: "a sum that is gone",
    statement: "DELETE FROM usage_hours WHERE spend_nano = 30 AND key_no > 0",
    fields: ["requests"],
  },
];

const copyOf = (condition: string, changes: string) => `
  CREATE TEMP TABLE copied AS SELECT * FROM entries WHERE ${condition};
  UPDATE copied SET id = ${nextOfSqlite}${changes};
  INSERT INTO entries SELECT * FROM copied`;

const moreCredit = "UPDATE accounts SET posted = posted + 1000, purchased = purchased + 1000 WHERE no = 1";

/** Each is in one entry and leaves all sums as they are, or changes them with it. */
const inChain: readonly Forgery[] = [
  ["an overrun that was duplicated", copyOf("kind = 'overrun'", "")],
  ["an overrun that was duplicated without its hash", copyOf("kind = 'overrun'", ", hash = NULL")],
  ["a top-up that was duplicated with its totals", `${copyOf("id = 1", "")}; ${moreCredit}`],
  [
    "a top-up that was duplicated without its hash, with its totals",
    `${copyOf("id = 1", ", hash = NULL")}; ${moreCredit}`,
  ],
  [
    "a top-up that was changed with its totals",
    `UPDATE entries SET amount = amount + 1000 WHERE id = 1; ${moreCredit}`,
  ],
  ["the date of a top-up", "UPDATE entries SET at_ms = at_ms + 86400000 WHERE id = 1"],
  ["the kind of a top-up", "UPDATE entries SET kind = 'adjustment' WHERE id = 1"],
  ["the reference of a top-up", "UPDATE entries SET reference = 'invoice 12' WHERE id = 1"],
  ["the note of a top-up", "UPDATE entries SET note = 'a gift' WHERE id = 1"],
  ["a top-up without its hash", "UPDATE entries SET hash = NULL WHERE id = 1"],
  ["a hash that was replaced", "UPDATE entries SET hash = 'x' WHERE id = 1"],
  ["a charge's basis", "UPDATE entries SET basis = 'estimated' WHERE amount = -60"],
  ["a charge's outcome", "UPDATE entries SET outcome = 'failed' WHERE amount = -60"],
  ["a charge's id", "UPDATE entries SET id = 900 WHERE amount = -40"],
  ["the request of a charge", "UPDATE entries SET exchange_id = 'req_other' WHERE amount = -60"],
  ["reasoning tokens", "UPDATE entries SET reasoning_tokens = reasoning_tokens + 1 WHERE amount = -60"],
  ["an owner's label", `UPDATE entries SET labels = '{"owner":"eve"}' WHERE amount = -40`],
  ["dates that were moved by 10 s", "UPDATE entries SET at_ms = at_ms - 10000 WHERE amount < 0"],
  [
    "dates that were moved by 10 s together with what they rest on",
    "UPDATE entries SET at_ms = at_ms - 10000, recorded_at_ms = recorded_at_ms - 10000 WHERE amount = -60",
  ],
  [
    "the moment that decides the periods",
    "UPDATE entries SET counted_at_ms = coalesce(counted_at_ms, at_ms) - 1 WHERE amount = -60",
  ],
  ["the route of a charge", "UPDATE entries SET route = 'other' WHERE amount = -60"],
  ["the requested model", "UPDATE entries SET asked_model = 'other' WHERE amount = -60"],
  ["the provider's model", "UPDATE entries SET upstream_model = 'other' WHERE amount = -60"],
  ["the status of a request", "UPDATE entries SET status = 201 WHERE amount = -60"],
  ["whether a request was streamed", "UPDATE entries SET stream = NOT stream WHERE amount = -60"],
  ["the time of the first byte", "UPDATE entries SET first_byte_ms = 7 WHERE amount = -60"],
  ["the duration of a request", "UPDATE entries SET total_ms = total_ms + 1 WHERE amount = -60"],
  ["how often a request was tried", "UPDATE entries SET attempts = attempts + 1 WHERE amount = -60"],
  [
    "what a cache has saved",
    "UPDATE entries SET cache_savings_nano = coalesce(cache_savings_nano, 0) + 1 WHERE amount = -60",
  ],
  [
    "two charges that were swapped",
    `UPDATE entries SET id = 901 WHERE id = 3; UPDATE entries SET id = 3 WHERE id = 4;
    UPDATE entries SET id = 4 WHERE id = 901`,
  ],
].map(([name = "", statement = ""]) => ({ name, statement, fields: ["hash"], inEntry: true }));

/** The newest hash of an account, and what is gone at the end of its chain. */
const atHead: readonly Forgery[] = [
  {
    name: "an account's newest hash",
    statement: "UPDATE accounts SET chain_hash = 'x' WHERE no = 1",
    fields: ["hash"],
  },
  {
    name: "an account's newest entry that was removed with its totals",
    statement: `DELETE FROM entries WHERE id = 2;
      UPDATE accounts SET posted = posted - 1000, purchased = purchased - 1000 WHERE no = 2`,
    fields: ["hash"],
  },
  {
    name: "an entry that was removed",
    statement: "DELETE FROM entries WHERE amount = -40",
    fields: ["hash"],
    inEntry: true,
  },
];

const onlySqlite: readonly Forgery[] = [
  {
    name: "how much an account may owe",
    statement: "UPDATE accounts SET floor = -5 WHERE no = 1",
    fields: ["floor"],
  },
];

const onlyPostgres: readonly Forgery[] = [
  {
    name: "something that a cap holds, and no request",
    statement: "UPDATE caps SET held = 5 WHERE account_no IS NOT NULL",
    fields: ["held"],
  },
  {
    name: "an entry with an id that was never taken",
    statement: copyOf("id = 1", "").replace(nextOfSqlite, "900"),
    fields: ["id"],
    inEntry: true,
  },
  {
    name: "an entry in another month of the ledger",
    statement: "UPDATE entries SET month = month - 2 WHERE amount = -40",
    fields: ["month"],
  },
  {
    name: "a hold of a node that there is not",
    statement: `INSERT INTO holds (id, account_no, key_no, node_no, amount, period_start_ms, opened_at_ms, model)
      VALUES ('req_lost', 1, 1, 99, 0, 0, 0, 'm')`,
    fields: ["node"],
  },
];

const everywhere = [...forgeries, ...inChain, ...atHead];

const kinds = [
  { name: "SQLite", forged: forgedSqlite, forgeries: [...everywhere, ...onlySqlite] },
  ...(hasPostgres
    ? [{ name: "PostgreSQL", forged: forgedPostgres, forgeries: [...everywhere, ...onlyPostgres] }]
    : []),
];

for (const kind of kinds) {
  describe(`an audit on ${kind.name}`, () => {
    test("finds nothing in an honest ledger, however deep it looks", async () => {
      await using ledger = await kind.forged();
      expect(await audit(ledger.store, { deep: true })).toEqual({
        ...{ accounts: 3, entries: 8 },
        differences: [],
        anchor: null,
      });
    });

    for (const { name, statement, fields, inEntry = false, deep = false } of kind.forgeries) {
      test(`finds ${name}`, async () => {
        await using ledger = await kind.forged();
        await ledger.run(statement);
        const { differences } = await audit(ledger.store, { deep });
        const found = differences.filter(({ where }) => !inEntry || where.startsWith("entry "));
        for (const field of fields) expect(found.map((one) => one.field)).toContain(field);
      });
    }
  });
}
