import { afterEach, beforeEach, expect, test } from "bun:test";
import { BatchClient, chatLines } from "../gateway/batches/batch-world.ts";
import { configFor } from "../support/config.ts";
import { usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { seededRandom } from "../support/random.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** What becomes of batches when the gateway is stopped or killed. */
let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

const [kills, lines] = process.env["SLUICE_SOAK"] === "1" ? [50, 1000] : [4, 200];
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

beforeEach(async () => {
  provider = startProvider((request) => ({
    ...usualResponse(request),
    before: [{ sleepMs: 5 }],
  }));
  const head = "[server]\nshutdown_grace = 0.2\n[batches]\nconcurrency = 16\n";
  sluice = await startSluice({ config: configFor({ url: provider.url, head }) });
  key = await sluice.createKey({ credit: 1000 });
});
afterEach(async () => {
  await sluice.dispose();
  provider.stop();
});

const client = () => new BatchClient(sluice.url, { secret: key.key });

async function charges(): Promise<readonly { readonly request_id: string; readonly amount: number }[]> {
  const lines = (await sluice.cli("ledger", "export", "--json")).stdout.trim().split("\n");
  return lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "charge");
}

/** Each line has one result and one charge, and they name the same request. */
async function expectExact(id: string, count: number): Promise<void> {
  const ended = await client().untilEnded(id);
  expect(ended.request_counts).toEqual({ total: count, completed: count, failed: 0 });
  const results = await client().results(ended);
  expect(new Set(results.map(({ custom_id }) => custom_id)).size).toBe(count);
  const paid = (await charges()).map(({ request_id }) => request_id);
  expect(paid.toSorted()).toEqual(results.map(({ response }) => response?.request_id ?? "").toSorted());
  const audit = await sluice.cli("ledger", "audit");
  expect(audit.code, audit.stdout + audit.stderr).toBe(0);
}

test(`lines are charged exactly once over ${kills} kills at any point (SEED=${seed})`, async () => {
  const random = seededRandom(seed);
  const { id } = await client().create(chatLines(lines));
  for (let kill = 1; kill <= kills; kill += 1) {
    const asked = Math.floor((lines / (kills + 1)) * kill + random.next() * 20);
    await waitFor(() => provider.requests.length >= asked, `${asked} lines to run`);
    await Bun.sleep(random.next() * 20);
    await sluice.kill9();
    await sluice.restart();
  }
  await expectExact(id, lines);
}, 300_000);

test("a stop keeps what has not ended for the next start", async () => {
  const never = new Promise<never>(() => {});
  provider.script((request) => ({ ...usualResponse(request), before: [{ until: never }] }));
  const { id } = await client().create(chatLines(20));
  await waitFor(() => provider.requests.length === 8, "lines to run");
  await sluice.stop();
  provider.script(null);
  await sluice.restart();
  await expectExact(id, 20);
});
