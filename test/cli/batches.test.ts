import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { BatchView, FileView } from "../../src/admin/batches/schema.ts";
import { BatchClient, chatLines } from "../gateway/batches/batch-world.ts";
import { configFor } from "../support/config.ts";
import { usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** What operators see of batches and files, and do with them. */
let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

const token = "slua_a-token-of-batches";
const head = '[admin]\ntoken = "env:ADMIN"\n';

beforeAll(async () => {
  provider = startProvider();
  const env = { ADMIN: token };
  sluice = await startSluice({ config: configFor({ url: provider.url, head }), env });
  key = await sluice.createKey({ credit: 1 });
}, 120_000);
afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const client = () => new BatchClient(sluice.url, { secret: key.key });
const listed = (...options: string[]) => sluice.cliJson<BatchView[]>("batches", "list", ...options);

test("an operator lists, shows and cancels batches, and deletes files", async () => {
  const done = await client().untilEnded((await client().create(chatLines(3))).id);
  const { promise, resolve } = Promise.withResolvers<void>();
  provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
  const { id } = await client().create(chatLines(20));
  await waitFor(() => provider.requests.length >= 8, "lines to run");
  const data = await listed();
  expect(data.map((batch) => [batch.id, batch.state, batch.total])).toEqual([
    [id, "running", 20],
    [done.id, "ended", 3],
  ]);
  expect(data[1]).toMatchObject({
    key: key.prefix,
    completed: 3,
    charged: done.sluice.charged,
    unit: "credits",
  });
  expect((await listed("--state", "open", "--key", key.prefix)).map((batch) => batch.id)).toEqual([id]);
  for (const [state, ids] of Object.entries({ running: [id], waiting: [], paused: [], ended: [done.id] })) {
    expect((await listed("--state", state)).map((batch) => batch.id)).toEqual(ids);
  }
  const reported = await sluice.cliJson<{ data: { name: string; completed: number }[] }>(
    ...["usage", "--by", "batch"],
  );
  expect(reported.data.find(({ name }) => name === done.id)).toMatchObject({ completed: 3 });
  const lines = await sluice.cliJson<readonly { batch: string }[]>("requests", "list", "--batch", done.id);
  expect(lines.map(({ batch }) => batch)).toEqual(Array(3).fill(done.id));
  expect((await sluice.cli("store", "size")).stdout).toMatch(/batches +2, with 3 files/);
  const metrics = await (
    await sluice.request("/metrics", { headers: { authorization: `Bearer ${token}` } })
  ).text();
  expect(metrics).toContain('sluice_batches{state="running"} 1');
  expect(metrics).toContain('sluice_batch_lines{state="waiting"} 12');
  expect(metrics).toContain('sluice_batch_lines_total{outcome="completed"} 3');
  const cancelled = await sluice.cli("batches", "cancel", id, "--yes");
  expect(cancelled.stdout).toContain(`${id} is cancelling.`);
  resolve();
  expect((await client().untilEnded(id)).status).toBe("cancelled");
  const shown = await sluice.cli("batches", "show", id);
  expect(shown.stdout).toContain("8 of 20 lines completed, 12 failed");
  expect((await sluice.cli("batches", "cancel", id, "--yes")).stderr).toContain("is cancelled");
  const files = await sluice.cliJson<FileView[]>("files", "list", "--key", key.prefix);
  expect(files.filter(({ purpose }) => purpose === "batch")).toHaveLength(2);
  expect(files.filter(({ batch }) => batch !== null)).toHaveLength(3);
  expect((await sluice.cli("files", "delete", "--key", key.prefix, "--yes")).stdout).toContain("5 files");
  expect((await client().get(done.id)).output_file_id).toBeNull();
});

test("a key reads its own batches and files below /usage, and nobody else's", async () => {
  const other = await sluice.createKey();
  const { id } = await client().create(chatLines(1));
  const read = (path: string, { key: secret }: TestKey) =>
    sluice.request(`/usage/api/v1${path}`, { headers: { authorization: `Bearer ${secret}` } });
  for (const path of [`/batches?key=${key.prefix}`, `/batches/${id}`, `/files?key=${key.prefix}`]) {
    expect((await read(path, key)).status).toBe(200);
    expect((await read(path, other)).status).toBe(404);
  }
  expect((await read("/batches", key)).status).toBe(403);
  await client().untilEnded(id);
});

test("a batch in a restored backup is paused until it is resumed", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
  const { id } = await client().create(chatLines(10));
  const copy = join(sluice.folder, "copy.db");
  expect((await sluice.cli("backup", copy)).code).toBe(0);
  await sluice.kill9();
  resolve();
  expect((await sluice.cli("restore", copy, "--yes")).code).toBe(0);
  await sluice.restart();
  expect((await client().get(id)).sluice).toMatchObject({ state: "paused", reason: "restored" });
  const asked = provider.requests.length;
  await Bun.sleep(1500);
  expect(provider.requests).toHaveLength(asked);
  const status = await sluice.cli("status");
  expect(status.stdout).toContain(`Batch ${id} is paused`);
  expect((await sluice.cli("batches", "resume", id)).stdout).toContain(`${id} runs on.`);
  expect((await client().untilEnded(id)).request_counts.completed).toBe(10);
});
