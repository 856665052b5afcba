import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

/** One purchase of three, all of them spent; together they are more than 2^53 nano-credits, and odd. */
const bought = 3_100_000_000_000_001n;

/** As if the key had bought and used 9.3 million credits in its life. */
function makeHistory(keyId: string): void {
  using database = new Database(join(sluice.folder, "data", "sluice.db"), { safeIntegers: true });
  const values = { keyId, bought, atMs: BigInt(Date.now()) };
  const charge = database.query(`
    INSERT INTO entries (key_no, kind, amount, at_ms, recorded_at_ms, exchange_id, basis, outcome, route, model,
      provider, upstream_model, stream, status, input_tokens, cached_input_tokens, cache_write_tokens,
      output_tokens, reasoning_tokens, cost_nano, total_ms, attempts)
    SELECT no, 'charge', -$bought, $atMs, $atMs, 'req_' || $number, 'measured', 'completed', '/v1/chat/completions',
      'gpt-test', 'openai', 'gpt-upstream', 0, 200, 0, 0, 0, 1, 0, $bought, 1, 1
    FROM keys WHERE id = $keyId`);
  const topUp = database.query(`
    INSERT INTO entries (key_no, kind, amount, at_ms) SELECT no, 'topup', $bought, $atMs FROM keys WHERE id = $keyId`);
  for (const number of [1n, 2n, 3n]) {
    topUp.run(named(values));
    charge.run(named({ ...values, number }));
  }
  // All of it is from before the chain.
  database.run("DROP TRIGGER entries_are_never_changed");
  database.run("UPDATE entries SET hash = NULL");
  database.run("UPDATE accounts SET chain_hash = NULL");
  database
    .query(`
    UPDATE accounts SET purchased = purchased + 3 * $bought, used = used + 3 * $bought, period_used = 3 * $bought
    WHERE no = (SELECT account_no FROM keys WHERE id = $keyId)`)
    .run(named({ keyId: values.keyId, bought: values.bought }));
  database
    .query(`
    UPDATE key_sums SET spent = 3 * $bought, day = $atMs / 86400000, day_spend = 3 * $bought, requests = 3, output_tokens = 3,
      last_cost_nano = $bought
    WHERE key_no = (SELECT no FROM keys WHERE id = $keyId)`)
    .run(named(values));
}

function named(values: Record<string, string | bigint>): Record<string, string | bigint> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`$${name}`, value]));
}

async function creditsOf(key: TestKey): Promise<Record<string, number>> {
  const response = await sluice.request("/v1/usage", { key });
  expect(response.status).toBe(200);
  return ((await response.json()) as { credits: Record<string, number> }).credits;
}

test("a key that has used more than a double holds starts, is charged to the nano-credit, and audits clean", async () => {
  const key = await sluice.createKey({ credit: 10 });
  expect(await sluice.stop()).toBe(0);
  makeHistory(key.id);
  await sluice.restart();

  const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
  const answered = await sluice.request("/v1/chat/completions", { key, body });
  expect(answered.status).toBe(200);
  await answered.text();
  // 21 tokens in and 9 out, at 1 and 2 USD per million.
  const balance = 10 - (21 * 1 + 9 * 2) / 1_000_000;
  const credits = await creditsOf(key);
  expect(credits).toMatchObject({ balance, remaining: balance, reserved: 0 });
  const spentNano = 3n * bought + 39_000n;
  const nearest = (nano: bigint) =>
    Number(`${nano / 10n ** 9n}.${String(nano % 10n ** 9n).padStart(9, "0")}`);
  expect(credits).toMatchObject({
    used: nearest(spentNano),
    lifetime_spend: nearest(spentNano),
    today_spend: nearest(spentNano),
    total_purchased: nearest(3n * bought + 10n ** 10n),
  });

  const audit = await sluice.cli("ledger", "audit");
  expect(audit.code, audit.stdout + audit.stderr).toBe(0);
  for (const command of [
    ["usage", "--by", "key"],
    ["keys", "list"],
    ["keys", "show", key.id],
  ]) {
    expect((await sluice.cli(...command, "--json")).code).toBe(0);
  }
  expect(await sluice.stop()).toBe(0);
  await sluice.restart();
  expect(await creditsOf(key)).toMatchObject({ balance, reserved: 0 });
}, 120_000);

test("more than an account may hold is refused at the door, in words", async () => {
  const key = await sluice.createKey({ credit: 1 });
  for (const [args, words] of [
    [["keys", "topup", key.id, "4000000"], "at most 4000000 credits"],
    [["keys", "topup", key.id, "5000000"], "at most 4000000"],
    [["keys", "topup", key.id, "9007199254740993"], "at most 4000000"],
    [["keys", "create", "--mode", "credit", "--credit", "4000001"], "at most 4000000"],
  ] as const) {
    const { code, stdout, stderr } = await sluice.cli(...args);
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain(words);
  }
  expect(await creditsOf(key)).toMatchObject({ balance: 1 });
}, 120_000);
