import { afterEach, beforeEach, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { BatchClient, chatLines, type ResultLine } from "../gateway/batches/batch-world.ts";
import { cutAfter, hangUp } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { costOf, MessageBatches, nativeModel } from "../support/message-batches.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { seededRandom } from "../support/random.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** What becomes of lines at a provider when the gateway is killed, between any two steps. */
let batches: MessageBatches;
let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

const isSoak = process.env["SLUICE_SOAK"] === "1";
const [kills, lineCount, batchCount] = isSoak ? [50, 200, 5] : [6, 20, 3];
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

beforeEach(async () => {
  batches = new MessageBatches();
  provider = startProvider(batches.script);
  const head = '[server]\nshutdown_grace = 0.2\n[batches]\nconcurrency = 8\nprovider_poll = "100ms"\n';
  sluice = await startSluice({ config: configFor({ url: provider.url, head, tail: nativeModel }) });
  key = await sluice.createKey({ credit: 1000 });
});
afterEach(async () => {
  await sluice.dispose();
  provider.stop();
});

const client = () => new BatchClient(sluice.url, { secret: key.key });
const claudeLines = (count: number) => chatLines(count, { model: "claude-batch" });

interface Charge {
  readonly kind: string;
  readonly request_id: string;
  readonly amount: number;
}

/** Each line has one result and one charge of the right amount, and no hold is left. */
async function expectExact(ids: readonly string[], count: number): Promise<void> {
  const results: ResultLine[] = [];
  for (const id of ids) {
    const ended = await client().untilEnded(id);
    expect(ended.request_counts).toEqual({ total: count, completed: count, failed: 0 });
    const own = await client().results(ended);
    expect(new Set(own.map(({ custom_id }) => custom_id)).size).toBe(count);
    results.push(...own);
  }
  const exported = (await sluice.cli("ledger", "export", "--json")).stdout.trim().split("\n");
  const charges = exported.map((line) => JSON.parse(line) as Charge).filter(({ kind }) => kind === "charge");
  const paid = charges.map(({ request_id, amount }) => [request_id, -amount]);
  const owed = results.map(({ custom_id, response }) => [
    response?.request_id ?? "",
    costOf(Number(custom_id.slice("line-".length))),
  ]);
  expect(paid.toSorted()).toEqual(owed.toSorted());
  const audit = await sluice.cli("ledger", "audit");
  expect(audit.code, audit.stdout + audit.stderr).toBe(0);
  const { reserved } = await sluice.cliJson<{ reserved: number }>("keys", "show", key.id);
  expect(reserved ?? 0).toBe(0);
}

test(`lines are charged exactly once over ${kills} kills at any point (SEED=${seed})`, async () => {
  const random = seededRandom(seed);
  const ids: string[] = [];
  let kill: (() => void) | null = null;
  batches.fault = (request, at) => {
    if (kill === null || random.next() < 0.5) return null;
    const isBefore = random.next() < 0.5;
    const trigger = kill;
    kill = null;
    if (at === "create" && !isBefore) batches.create(request);
    trigger();
    const batch = batches.named(request);
    if (at !== "results" || batch === undefined) return isBefore || at === "create" ? hangUp() : null;
    return cutAfter(batches.results(batch), Math.floor(random.next() * 5000), [{ stall: true }]);
  };
  for (let n = 0; n < batchCount; n += 1) ids.push((await client().create(claudeLines(lineCount))).id);
  for (let n = 1; n <= kills; n += 1) {
    const { promise, resolve } = Promise.withResolvers<void>();
    kill = resolve;
    // At a call of the provider, or at any time.
    await Promise.race([promise, Bun.sleep(200 + random.next() * 1000)]);
    await Bun.sleep(random.next() * 30);
    await sluice.kill9();
    kill = null;
    await sluice.restart();
    if (n % 3 === 0) ids.push((await client().create(claudeLines(lineCount))).id);
  }
  await expectExact(ids, lineCount);
  const sent = batches.linesSent.length;
  console.log(
    `${ids.length * lineCount} lines, ${sent} sent in ${batches.batches.length} batches, ${kills} kills`,
  );
}, 600_000);

test("holds survive a kill and a stop, until the results come", async () => {
  batches.takesMs = 600_000;
  const { id } = await client().create(claudeLines(10));
  await waitFor(() => batches.linesSent.length === 10, "the lines to be sent");
  const reserved = async () => (await sluice.cliJson<{ reserved: number }>("keys", "show", key.id)).reserved;
  await waitFor(async () => (await reserved()) > 0, "the holds");
  const before = await reserved();
  await sluice.kill9();
  await sluice.restart();
  expect(await reserved()).toBe(before);
  await sluice.stop();
  await sluice.restart();
  expect(await reserved()).toBe(before);
  for (const batch of batches.batches) batch.endsAtMs = Date.now();
  await expectExact([id], 10);
  expect(batches.linesSent).toHaveLength(10);
});

test("what a restored backup held for lines at a provider is released by a cancellation, and nothing is cancelled there", async () => {
  batches.takesMs = 600_000;
  const { id } = await client().create(claudeLines(5));
  await waitFor(() => batches.linesSent.length === 5, "the lines to be sent");
  const copy = `${sluice.folder}/copy.db`;
  expect((await sluice.cli("backup", copy)).code).toBe(0);
  await sluice.stop();
  expect((await sluice.cli("restore", copy, "--yes")).code).toBe(0);
  await sluice.restart();
  expect((await client().get(id)).sluice.state).toBe("paused");
  await client().call("POST", `/batches/${id}/cancel`);
  const ended = await client().untilEnded(id);
  expect(ended).toMatchObject({ status: "cancelled", request_counts: { completed: 0, failed: 5 } });
  expect((await sluice.cliJson<{ reserved: number }>("keys", "show", key.id)).reserved).toBe(0);
  expect(batches.batches.filter(({ cancelledAtMs }) => cancelledAtMs !== null)).toEqual([]);
});

test("a store is copied although lines are at a provider, and they are settled there", async () => {
  batches.takesMs = 600_000;
  const { id } = await client().create(claudeLines(5));
  await waitFor(() => batches.linesSent.length === 5, "the lines to be sent");
  await sluice.stop();
  const file = `${sluice.folder}/export`;
  const exported = await sluice.cli("store", "export", file, "--keep");
  expect(exported.code, exported.stdout + exported.stderr).toBe(0);
  renameSync(join(sluice.folder, "data"), join(sluice.folder, "former"));
  const imported = await sluice.cli("store", "import", file);
  expect(imported.code, imported.stdout + imported.stderr).toBe(0);
  await sluice.restart();
  expect((await sluice.cli("batches", "resume", id)).code).toBe(0);
  for (const batch of batches.batches) batch.endsAtMs = Date.now();
  await expectExact([id], 5);
  expect(batches.linesSent).toHaveLength(5);
});
