import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { closeSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { BatchClient } from "../gateway/batches/batch-world.ts";
import { cutBefore, heldBefore, sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom, fixture } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { canMountSmallDisk, mountSmallDisk } from "../support/small-disk.ts";
import { readStream, StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;

beforeAll(() => {
  provider = startProvider();
});
afterEach(() => provider.reset());
afterAll(() => provider.stop());

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

const hasPrlimit = Bun.which("prlimit") !== null;
if (!hasPrlimit) console.warn("SKIPPED: there is no prlimit here, so descriptors do not run out");

interface Credits {
  used: number;
  reserved: number;
  balance: number;
}

async function creditsOf(sluice: Sluice, key: TestKey): Promise<Credits> {
  const summary = await (await sluice.request("/v1/usage", { key })).json();
  return (summary as { credits: Credits }).credits;
}

function databaseOf(sluice: Sluice): string {
  return join(sluice.folder, "data", "sluice.db");
}

test("a gateway that was suspended for seconds serves as soon as it goes on", async () => {
  await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
  const key = await sluice.createKey();
  process.kill(sluice.pid, "SIGSTOP");
  await Bun.sleep(3_000);
  const asked = Array.from({ length: 8 }, () => sluice.request("/v1/chat/completions", { key, body: ask }));
  process.kill(sluice.pid, "SIGCONT");
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(8).fill(200));
  const next = await sluice.request("/v1/chat/completions", { key, body: ask });
  expect(next.status).toBe(200);
});

describe("SIGTERM", () => {
  test("makes the gateway not ready at once, refuses new work with 503, and lets streams finish", async () => {
    await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
    const key = await sluice.createKey();
    const gate = Promise.withResolvers<void>();
    provider.script(heldBefore(answerFrom("chat/text.sse"), '" keep"', gate.promise));
    const reader = new StreamReader(
      await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } }),
    );
    await reader.until("Sluices");
    const stopping = sluice.stop();
    await waitFor(async () => (await sluice.request("/readyz")).status === 503, "not to be ready");
    const refused = await sluice.request("/v1/chat/completions", { key, body: ask });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    gate.resolve();
    while ((await reader.nextChunk()) !== null);
    expect(reader.result().text).toEndWith("data: [DONE]\n\n");
    expect(await stopping).toBe(0);
  });

  test("ends streams in-band and settled when the grace time is over", async () => {
    const config = configFor({ url: provider.url, head: "[server]\nshutdown_grace = 0.2" });
    await using sluice = await startSluice({ config });
    const key = await sluice.createKey();
    provider.script(cutBefore(answerFrom("chat/text.sse"), '" keep"', [{ stall: true }]));
    const reader = new StreamReader(
      await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } }),
    );
    await reader.until("Sluices");
    const stopping = sluice.stop();
    while ((await reader.nextChunk()) !== null);
    const { text } = reader.result();
    expect(text).toContain('"code":"service_unavailable"');
    expect(text).not.toContain("[DONE]");
    expect(await stopping).toBe(0);
    await sluice.restart();
    const credits = await creditsOf(sluice, key);
    // By the tokenizer, 5 tokens were asked and 3 were answered.
    expect(credits.used).toBe((5 * 1 + 3 * 2) / 1_000_000);
    expect(credits.reserved).toBe(0);
  });

  test("a second time ends at once", async () => {
    await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
    const key = await sluice.createKey();
    provider.script({ ...sse(""), before: [{ stall: true }] });
    const hanging = sluice.request("/v1/chat/completions", { key, body: ask }).catch(() => null);
    await waitFor(() => provider.requests.length === 1, "the provider to be asked");
    void sluice.stop();
    await waitFor(() => sluice.output.includes("stopping"), "the first signal to be heard");
    expect(await sluice.stop()).not.toBe(0);
    await hanging;
  });
});

test("SIGHUP takes over a new configuration and drops no stream", async () => {
  await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
  const key = await sluice.createKey();
  const gate = Promise.withResolvers<void>();
  provider.script(heldBefore(answerFrom("chat/text.sse"), '" keep"', gate.promise));
  const reader = new StreamReader(
    await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } }),
  );
  await reader.until("Sluices");
  await sluice.reload(configFor({ url: provider.url }).replaceAll("gpt-test", "gpt-renamed"));
  gate.resolve();
  while ((await reader.nextChunk()) !== null);
  expect(reader.result().text).toEndWith("data: [DONE]\n\n");
  provider.script(null);
  expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(404);
  const renamed = await sluice.request("/v1/chat/completions", {
    key,
    body: { ...ask, model: "gpt-renamed" },
  });
  expect(renamed.status).toBe(200);
  await sluice.reload("nonsense = true");
  const still = await sluice.request("/v1/chat/completions", { key, body: { ...ask, model: "gpt-renamed" } });
  expect(still.status).toBe(200);
});

test("a database locked by another process makes requests wait or 503, and the balance stays right", async () => {
  await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
  const key = await sluice.createKey();
  const other = new Database(databaseOf(sluice));
  other.run("BEGIN IMMEDIATE");
  const asking = Array.from({ length: 10 }, () => sluice.request("/v1/chat/completions", { key, body: ask }));
  await waitFor(async () => (await sluice.request("/readyz")).status === 503, "the lock to last too long");
  other.run("ROLLBACK");
  other.close();
  const statuses = (await Promise.all(asking)).map((response) => response.status);
  expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
  await waitFor(async () => (await creditsOf(sluice, key)).reserved === 0, "all holds to end");
  const { used, balance } = await creditsOf(sluice, key);
  const admitted = statuses.filter((status) => status === 200).length;
  expect(used).toBeCloseTo(admitted * 0.000039, 9);
  expect(balance).toBeCloseTo(10 - used, 9);
  expect((await sluice.run("ledger", "audit")).code).toBe(0);
});

test("a corrupt database is refused at start, and the way to restore it is told", async () => {
  await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
  await sluice.stop();
  const file = databaseOf(sluice);
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(statSync(file).size - 100, 0x5a), 0, undefined, 100);
  closeSync(descriptor);
  await expect(sluice.restart()).rejects.toThrow(/restore/);
});

test.skipIf(!canMountSmallDisk)(
  "a full disk refuses new work with 503, settles what runs, and loses nothing when there is room again",
  async () => {
    using disk = mountSmallDisk(40);
    const config = configFor({ url: provider.url });
    await using sluice = await startSluice({ config, env: { SLUICE_DATA: join(disk.folder, "data") } });
    const key = await sluice.createKey();
    const gate = Promise.withResolvers<void>();
    provider.script({ ...answerFrom("chat/text.json"), before: [{ until: gate.promise }] });
    const running = sluice.request("/v1/chat/completions", { key, body: ask });
    await waitFor(() => provider.requests.length === 1, "the provider to be asked");
    const filler = disk.fill();
    gate.resolve();
    expect((await running).status).toBe(200);
    provider.script(null);
    await waitFor(async () => {
      const response = await sluice.request("/v1/chat/completions", { key, body: ask });
      await response.text();
      return response.status === 503;
    }, "new work to be refused");
    const before = await creditsOf(sluice, key);
    rmSync(filler);
    await waitFor(
      async () => (await sluice.request("/v1/chat/completions", { key, body: ask })).status === 200,
      "room",
    );
    await sluice.kill9();
    await sluice.restart();
    const after = await creditsOf(sluice, key);
    expect(after.used).toBeGreaterThan(before.used);
    expect(after.reserved).toBe(0);
    expect((await sluice.run("ledger", "audit")).code).toBe(0);
  },
  60_000,
);

test.skipIf(!canMountSmallDisk)(
  "uploads stop before the disk is full, leave nothing, and charges go on",
  async () => {
    using disk = mountSmallDisk(100);
    const config = configFor({ url: provider.url });
    await using sluice = await startSluice({ config, env: { SLUICE_DATA: join(disk.folder, "data") } });
    const key = await sluice.createKey();
    const client = new BatchClient(sluice.url, { secret: key.key });
    const { status, body } = await client.upload("x".repeat(60 * 1024 * 1024));
    expect({ status, code: body.error.code }).toEqual({ status: 503, code: "service_unavailable" });
    expect((await client.call<{ data: unknown[] }>("GET", "/files")).body.data).toEqual([]);
    expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(200);
    using database = new Database(join(disk.folder, "data", "sluice.db"), { readonly: true });
    expect(database.query("SELECT count(*) AS parts FROM file_parts").get()).toEqual({ parts: 0 });
  },
  60_000,
);

test.skipIf(!hasPrlimit)(
  "out of file descriptors, what runs goes on, new work is answered or shed, and nothing stays held",
  async () => {
    await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
    const key = await sluice.createKey();
    const gate = Promise.withResolvers<void>();
    const events = fixture("chat/text.sse").split(/(?<=\n\n)/);
    provider.script((request) => {
      if (request.body["stream"] !== true) return answerFrom("chat/text.json");
      const steps = [
        { write: events.slice(0, 4).join("") },
        { until: gate.promise },
        { write: events.slice(4).join("") },
      ];
      return { ...sse(""), steps };
    });
    const reader = new StreamReader(
      await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } }),
    );
    await reader.until("Sluices");
    limitDescriptors(sluice.pid, readdirSync(`/proc/${sluice.pid}/fd`).length + 6);
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const headers = { connection: "close" };
        const response = await sluice.request("/v1/chat/completions", { key, body: ask, headers });
        await response.text();
        return response.status;
      }),
    );
    for (const status of statuses) expect([200, 502, 503]).toContain(status);
    limitDescriptors(sluice.pid, 20_000);
    gate.resolve();
    while ((await reader.nextChunk()) !== null);
    expect(reader.result().text).toEndWith("data: [DONE]\n\n");
    await waitFor(
      async () => (await sluice.request("/v1/chat/completions", { key, body: ask })).status === 200,
      "new work to be done again",
    );
    expect((await creditsOf(sluice, key)).reserved).toBe(0);
  },
);

test.skipIf(!hasPrlimit)(
  "without a descriptor left, no thread is started, the data folder is not read, and the gateway goes on",
  async () => {
    await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
    const key = await sluice.createKey();
    const large = JSON.stringify(ask) + " ".repeat(1_200_000);
    const statusOf = async (body: unknown) => {
      const response = await sluice.request("/v1/chat/completions", { key, body });
      await response.text();
      return response.status;
    };
    // Its connections, to and from the gateway, are kept, and used by those that follow.
    expect(await statusOf(ask)).toBe(200);
    limitDescriptors(sluice.pid, readdirSync(`/proc/${sluice.pid}/fd`).length);
    expect(await statusOf(large)).toBe(503);
    await waitFor(() => sluice.output.includes("EMFILE"), "a look at the data folder to fail");
    expect(await statusOf(ask)).toBe(200);
    limitDescriptors(sluice.pid, 20_000);
    expect(await statusOf(large)).toBe(200);
    expect(sluice.output.match(/EMFILE/g)).toHaveLength(1);
    expect((await creditsOf(sluice, key)).reserved).toBe(0);
  },
);

function limitDescriptors(pid: number, limit: number): void {
  expect(Bun.spawnSync(["prlimit", "--pid", String(pid), `--nofile=${limit}:`]).exitCode).toBe(0);
}

test.skipIf(!canMountSmallDisk)(
  "a start on a disk that is full, or nearly, says so where it says how to call the gateway",
  async () => {
    for (const [megabytes, status, said] of [
      [20, 503, "Every request gets 503 until this is fixed: The disk is full or nearly full."],
      [50, 200, "is nearly full ("],
    ] as const) {
      using disk = mountSmallDisk(megabytes);
      await using sluice = await startSluice({ env: { SLUICE_DATA: join(disk.folder, "data") } });
      const { output } = sluice;
      expect(output).toContain(said);
      expect(output.indexOf(said)).toBeGreaterThan(output.indexOf("First run: created two keys"));
      expect(output.indexOf(said)).toBeLessThan(output.indexOf("listening on"));
      const [, secret = ""] = /Bearer (slu_\w+)/.exec(output) ?? [];
      const headers = { authorization: `Bearer ${secret}` };
      const body = { model: "demo-small", messages: [{ role: "user", content: "Hello" }] };
      expect((await sluice.request("/v1/chat/completions", { headers, body })).status).toBe(status);
    }
  },
);

test("a start on a disk with room says nothing of it", async () => {
  await using roomy = await startSluice();
  expect(roomy.output).not.toContain("full");
});

test("two gateways on one data folder are refused", async () => {
  await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
  const { code, stdout, stderr } = await sluice.run("serve", "--port", "0");
  expect(code).toBe(1);
  expect(stdout + stderr).toMatch(/another|already|in use/i);
  const key = await sluice.createKey();
  await readStream(await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } }));
});
