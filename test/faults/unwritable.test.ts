import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { canMountSmallDisk, mountSmallDisk } from "../support/small-disk.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;

beforeAll(() => {
  provider = startProvider();
});
afterEach(() => provider.reset());
afterAll(() => provider.stop());

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

describe("a start on a full disk", () => {
  test.skipIf(!canMountSmallDisk)(
    "says so in a sentence, on a new folder and on one in use, and works when there is room",
    async () => {
      using disk = mountSmallDisk(40);
      const config = configFor({ url: provider.url });
      await using sluice = await startSluice({ config, env: { SLUICE_DATA: join(disk.folder, "data") } });
      const key = await sluice.createKey();
      expect((await sluice.request("/v1/chat/completions", { key, body: ask })).status).toBe(200);
      expect(await sluice.stop()).toBe(0);
      const filler = disk.fill();
      for (const data of ["data", "new"].map((name) => join(disk.folder, name))) {
        const { code, stdout, stderr } = await sluice.run("serve", "--port", "0", "--data", data);
        expect(code).toBe(1);
        expect(stdout).toBe("");
        expect(stderr).toMatch(/^error: The disk with \S+ is full .*Free at least 64 MiB/);
        expect(stderr).not.toContain("    at ");
      }
      const topUp = await sluice.run("keys", "topup", key.id, "1");
      expect(topUp).toMatchObject({ code: 1, stdout: "" });
      expect(topUp.stderr).toMatch(/^error: The disk with \S+ is full/);
      const backup = await sluice.run("backup", join(disk.folder, "copy.db"));
      expect(backup.code).toBe(1);
      expect(backup.stderr).not.toContain("    at ");
      rmSync(filler);
      await sluice.restart();
      const usage = await (await sluice.request("/v1/usage", { key })).json();
      expect(usage).toMatchObject({ credits: { used: 0.000039 } });
    },
    60_000,
  );
});

describe("an operator whose gateway can write nothing", () => {
  const admin = "/admin/api/v1";
  const token = "the-operators-own-token";

  async function lookAround(sluice: Sluice, reason: string): Promise<void> {
    const body = { token };
    const signedIn = await sluice.request(`${admin}/session`, { body, headers: { origin: sluice.url } });
    expect(signedIn.status).toBe(204);
    const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
    for (const path of ["/overview", "/keys", "/requests", "/models", "/audit"]) {
      expect(`${path} ${(await sluice.request(admin + path, { headers: { cookie } })).status}`).toBe(
        `${path} 200`,
      );
    }
    const health = await (await sluice.request(`${admin}/health`, { headers: { cookie } })).json();
    expect(health).toMatchObject({ status: "unhealthy", problem: { reason, advice: expect.any(String) } });
    const headers = { authorization: `Bearer ${token}` };
    expect(await (await sluice.request("/metrics", { headers })).text()).toContain("\nsluice_ready 0\n");
    const asked = await sluice.run("health", "--port", new URL(sluice.url).port);
    expect(asked).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`not accepting requests: ${reason}`),
    });
  }

  test.skipIf(!canMountSmallDisk)(
    "on a full disk signs in, and sees what is wrong and what to do",
    async () => {
      using disk = mountSmallDisk(40);
      const env = { SLUICE_DATA: join(disk.folder, "data"), SLUICE_ADMIN_TOKEN: token };
      await using sluice = await startSluice({ config: configFor({ url: provider.url }), env });
      const key = await sluice.createKey();
      const filler = disk.fill();
      await waitFor(async () => {
        await sluice.request("/v1/chat/completions", { key, body: ask });
        return (await sluice.request("/readyz")).status === 503;
      }, "the full disk to be noticed");
      await lookAround(sluice, "The disk is full or nearly full.");
      expect(sluice.output).not.toContain("a route failed");
      rmSync(filler);
      await waitFor(async () => (await sluice.request("/readyz")).status === 200, "the room to be noticed");
    },
    60_000,
  );

  test("with a locked database does so too", async () => {
    const config = configFor({ url: provider.url });
    await using sluice = await startSluice({ config, env: { SLUICE_ADMIN_TOKEN: token } });
    const key = await sluice.createKey();
    using other = new Database(join(sluice.folder, "data", "sluice.db"));
    other.run("BEGIN IMMEDIATE");
    const asking = sluice.request("/v1/chat/completions", { key, body: ask });
    await waitFor(async () => (await sluice.request("/readyz")).status === 503, "the lock to be noticed");
    await lookAround(sluice, "The database is locked by another program.");
    other.run("ROLLBACK");
    expect((await asking).status).toBe(200);
  }, 120_000);
});

describe("SIGTERM while charges cannot be written", () => {
  test("waits for them, then exits with 1 and says which exchange, key and amount are missing", async () => {
    const config = configFor({ url: provider.url, head: "[server]\nshutdown_grace = 0.1" });
    await using sluice = await startSluice({ config });
    const key = await sluice.createKey();
    const other = new Database(join(sluice.folder, "data", "sluice.db"));
    other.run("BEGIN IMMEDIATE");
    const asking = sluice.request("/v1/chat/completions", { key, body: ask }).catch(() => null);
    await waitFor(() => provider.requests.length === 1, "the provider to be asked");
    await waitFor(async () => (await sluice.request("/readyz")).status === 503, "the lock to be noticed");
    expect(await sluice.stop()).toBe(1);
    other.close();
    const loss = /error: Charge NOT written: request (req_\S+), key (\S+), 0\.000039000 credits\./;
    expect(loss.exec(sluice.output)?.[2]).toBe(key.id);
    await asking;
    await sluice.restart();
    expect(await (await sluice.request("/v1/usage", { key })).json()).toMatchObject({ credits: { used: 0 } });
  }, 120_000);

  test("and a second one says it too, and ends at once", async () => {
    await using sluice = await startSluice({ config: configFor({ url: provider.url }) });
    const key = await sluice.createKey();
    const other = new Database(join(sluice.folder, "data", "sluice.db"));
    other.run("BEGIN IMMEDIATE");
    const asking = sluice.request("/v1/chat/completions", { key, body: ask }).catch(() => null);
    await waitFor(async () => (await sluice.request("/readyz")).status === 503, "the lock to be noticed");
    void sluice.stop();
    await sluice.told("stopping");
    expect(await sluice.stop()).toBe(143);
    await sluice.told(`key ${key.id}, 0.000039000 credits`);
    other.close();
    await asking;
  }, 120_000);

  test("loses nothing when they can be written in time", async () => {
    const config = configFor({ url: provider.url, head: "[server]\nshutdown_grace = 0.1" });
    await using sluice = await startSluice({ config });
    const key = await sluice.createKey();
    const other = new Database(join(sluice.folder, "data", "sluice.db"));
    other.run("BEGIN IMMEDIATE");
    const asking = sluice.request("/v1/chat/completions", { key, body: ask }).catch(() => null);
    await waitFor(async () => (await sluice.request("/readyz")).status === 503, "the lock to be noticed");
    const stopping = sluice.stop();
    await sluice.told("stopping");
    other.run("ROLLBACK");
    other.close();
    expect(await stopping).toBe(0);
    await asking;
    await sluice.restart();
    const usage = await (await sluice.request("/v1/usage", { key })).json();
    expect(usage).toMatchObject({ credits: { used: 0.000039 } });
  }, 120_000);
});
