import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { drip } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

async function usedBy(key: TestKey): Promise<number> {
  const response = await sluice.request("/v1/usage", { key });
  return ((await response.json()) as { credits: { used: number } }).credits.used;
}

test("a backup made and restored while the gateway serves brings everything back, and drops no stream", async () => {
  const copy = join(sluice.folder, "copy.db");
  const key = await sluice.createKey();
  await sluice.request("/v1/chat/completions", { key, body: ask });
  const usedBefore = await usedBy(key);
  await sluice.cliJson("backup", copy);

  const late = await sluice.createKey({ label: "late" });
  await sluice.request("/v1/chat/completions", { key, body: ask });
  expect(await usedBy(key)).toBeGreaterThan(usedBefore);
  provider.script(drip(answerFrom("chat/text.sse"), 50));
  const reader = new StreamReader(
    await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } }),
  );
  await reader.until("Sluices");

  const { replaced } = await sluice.cliJson<{ replaced: string }>("restore", copy, "--yes");
  expect(existsSync(replaced)).toBe(true);
  while ((await reader.nextChunk()) !== null);
  expect(reader.result().text).toEndWith("data: [DONE]\n\n");
  expect(await usedBy(key)).toBe(usedBefore);
  expect((await sluice.request("/v1/usage", { key: late })).status).toBe(401);
  provider.script(null);
  expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(200);
  expect((await sluice.cli("ledger", "audit")).code).toBe(0);
});

test("a file that is no backup is refused, and the gateway goes on undisturbed", async () => {
  const key = await sluice.createKey();
  const file = join(sluice.folder, "sluice.toml");
  const { code, stderr } = await sluice.cli("restore", file, "--yes");
  expect(code).toBe(1);
  expect(stderr).toContain("is not a Sluice database");
  expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(200);
});

test("a restore asks only for a backup that is there, and where it replaces something", async () => {
  const copy = join(sluice.folder, "asked.db");
  await sluice.cliJson("backup", copy);
  const missing = await sluice.cli("restore", join(sluice.folder, "none.db"));
  expect(missing.stderr).toContain("none.db does not exist");
  expect((await sluice.cli("restore", copy)).stderr).toContain("pass --yes to confirm");
  const restored = await sluice.cli("restore", copy, "--data", join(sluice.folder, "moved"));
  expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining("is restored from")]);
});

test("a restore that meets a database locked by another program waits, and the gateway goes on meanwhile", async () => {
  const copy = join(sluice.folder, "unlocked.db");
  const key = await sluice.createKey();
  await sluice.cliJson("backup", copy);
  const late = await sluice.createKey();
  const other = new Database(join(sluice.folder, "data", "sluice.db"));
  other.run("BEGIN IMMEDIATE");
  const restoring = sluice.cli("restore", copy, "--yes");
  await sluice.told("cannot be restored yet: The database was locked");
  expect((await sluice.request("/v1/usage", { key: late })).status).toBe(200);
  other.run("ROLLBACK");
  other.close();
  expect(await restoring).toMatchObject({ code: 0 });
  expect((await sluice.request("/v1/usage", { key: late })).status).toBe(401);
  expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(200);
});

test("a start after an interrupted restore finishes it, and one without its database is refused: neither is a first run", async () => {
  const key = await sluice.createKey();
  await sluice.stop();
  const database = join(sluice.folder, "data", "sluice.db");
  renameSync(database, `${database}.incoming`);
  const listing = await sluice.cli("keys", "list");
  expect(listing).toMatchObject({ code: 1 });
  expect(listing.stderr).toContain("interrupted");
  await sluice.restart();
  await sluice.told("Sluice finished an interrupted restore");
  expect(sluice.output).not.toContain("First run");
  expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(200);
  await sluice.stop();
  renameSync(database, join(sluice.folder, "elsewhere.db"));
  await expect(sluice.restart()).rejects.toThrow(/sluice\.db is missing.*sluice restore/s);
  expect(existsSync(database)).toBe(false);
  renameSync(join(sluice.folder, "elsewhere.db"), database);
  await sluice.restart();
  expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(200);
});
