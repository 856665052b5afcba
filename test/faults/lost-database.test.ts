import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { fixture } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;

beforeAll(() => {
  provider = startProvider();
});
afterEach(() => provider.reset());
afterAll(() => provider.stop());

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

function removeDatabase(sluice: Sluice): void {
  const data = join(sluice.folder, "data");
  for (const name of readdirSync(data)) if (name.startsWith("sluice.db")) rmSync(join(data, name));
}

async function usedBy(sluice: Sluice, key: TestKey): Promise<number> {
  const response = await sluice.request("/v1/usage", { key });
  return ((await response.json()) as { credits: { used: number } }).credits.used;
}

test("a ledger that is removed stops new work with an alarm, and nothing of it is lost at a stop", async () => {
  await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
  const key = await sluice.createKey();
  const gate = Promise.withResolvers<void>();
  const events = fixture("chat/text.sse").split(/(?<=\n\n)/);
  const steps = [
    { write: events.slice(0, 4).join("") },
    { until: gate.promise },
    { write: events.slice(4).join("") },
  ];
  provider.script({ ...sse(""), steps });
  const reader = new StreamReader(
    await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } }),
  );
  await reader.until("Sluices");

  removeDatabase(sluice);
  await waitFor(async () => (await sluice.request("/readyz")).status === 503, "the loss to be noticed");
  expect(await (await sluice.request("/readyz")).json()).toEqual({
    status: "not ready",
    reason: "sluice.db was removed while the gateway runs.",
  });
  const asked = provider.requests.length;
  const refused = await sluice.request("/v1/chat/completions", { key, body: ask });
  expect(refused.status).toBe(503);
  expect(provider.requests).toHaveLength(asked);
  await sluice.told("not accepting requests: sluice.db was removed");
  await sluice.told("still open");

  gate.resolve();
  while ((await reader.nextChunk()) !== null);
  expect(reader.result().text).toEndWith("data: [DONE]\n\n");
  const used = await usedBy(sluice, key);
  expect(used).toBeGreaterThan(0);

  expect(await sluice.stop()).toBe(1);
  const rescued = /Restore it with `sluice restore (\S+)`/.exec(sluice.output)?.[1] ?? "";
  expect(existsSync(rescued)).toBe(true);
  await expect(sluice.restart()).rejects.toThrow(/Sluice does not start with an empty ledger/);
  await sluice.cliJson("restore", rescued, "--yes");
  await sluice.restart();
  expect(await usedBy(sluice, key)).toBe(used);
  expect((await sluice.run("ledger", "audit")).code).toBe(0);
});

test("after the database is deleted, no more than two requests are answered", async () => {
  provider.script(sse(fixture("chat/text.sse")));
  await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
  const key = await sluice.createKey();
  const status = async () => {
    const response = await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } });
    await response.text();
    return response.status;
  };
  expect(await status()).toBe(200);
  removeDatabase(sluice);
  const statuses: number[] = [];
  for (let asked = 0; asked < 10; asked += 1) statuses.push(await status());
  expect(statuses.filter((each) => each === 200).length).toBeLessThanOrEqual(2);
  expect(statuses.slice(2)).toEqual(Array.from({ length: 8 }, () => 503));
});

test("a running gateway that has lost its ledger takes a restored one", async () => {
  await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
  const key = await sluice.createKey();
  const copy = join(sluice.folder, "copy.db");
  await sluice.cliJson("backup", copy);
  removeDatabase(sluice);
  await waitFor(async () => (await sluice.request("/readyz")).status === 503, "the loss to be noticed");
  const { replaced } = await sluice.cliJson<{ replaced: string | null }>("restore", copy, "--yes");
  expect(replaced).toBeNull();
  expect((await sluice.request("/readyz")).status).toBe(200);
  expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(200);
  await sluice.told("A full copy is in");
});
