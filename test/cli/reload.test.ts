import { describe, expect, test } from "bun:test";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConfigCheckView } from "../../src/admin/config/schema.ts";
import type { AuditView } from "../../src/admin/system/schema.ts";
import { putEmptyLedger } from "../store/sqlite/empty-ledger.ts";
import { freePort } from "../support/free-port.ts";
import { newFolder } from "../support/new-folder.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { newPlace, sluice, sluiceJson } from "./fixtures.ts";

const demo = '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n';
const token = "a-preset-token-of-mine";

interface InForce {
  readonly server: Record<string, unknown>;
  readonly log: { readonly level: string };
  readonly admin: { readonly metrics_listen: string | null };
  readonly warnings: readonly string[];
}

function start(config: string): Promise<Sluice> {
  return Sluice.start({ config, env: { SLUICE_ADMIN_TOKEN: token } });
}

async function reload(sluice: Sluice, config: string): Promise<void> {
  const before = sluice.output.length;
  await sluice.reload(config);
  const said = () => sluice.output.slice(before);
  await waitFor(() => /configuration (is running|keeps running)/.test(said()), "the answer to the reload");
}

async function inForce(sluice: Sluice): Promise<InForce> {
  const headers = { authorization: `Bearer ${token}` };
  return (await (await sluice.request("/admin/api/v1/config", { headers })).json()) as InForce;
}

describe("after SIGHUP", () => {
  test("trusted proxies and the anonymous rate are the new ones", async () => {
    await using sluice = await start(`[server]\nanonymous_rpm = 1\n${demo}`);
    const from = (address: string) =>
      sluice.request("/v1/models", { headers: { "x-forwarded-for": address } }).then(({ status }) => status);
    expect([await from("192.0.2.1"), await from("192.0.2.2")]).toEqual([200, 429]);
    await reload(sluice, `[server]\nanonymous_rpm = 1\ntrusted_proxies = ["127.0.0.1"]\n${demo}`);
    expect([await from("192.0.2.1"), await from("192.0.2.2"), await from("192.0.2.2")]).toEqual([
      200, 200, 429,
    ]);
    await reload(sluice, `[server]\nanonymous_rpm = 600\ntrusted_proxies = ["127.0.0.1"]\n${demo}`);
    expect([await from("192.0.2.3"), await from("192.0.2.3")]).toEqual([200, 200]);
  });

  test("the log has the new level and format", async () => {
    await using sluice = await start(`[log]\nlevel = "warn"\n${demo}`);
    const lines = () => sluice.output.split("\n").filter((line) => line.includes("/v1/models"));
    await sluice.request("/v1/models");
    await reload(sluice, `[log]\nlevel = "info"\n${demo}`);
    await sluice.request("/v1/models");
    await waitFor(() => lines().length === 1, "the one line in JSON");
    expect(lines()[0]).toStartWith("{");
    await reload(sluice, `[log]\nformat = "pretty"\n${demo}`);
    await sluice.request("/v1/models");
    await waitFor(() => lines().length === 2, "the pretty line");
    expect(lines()[1]).toContain("INFO");
  });

  test("a provider whose secret is gone is left out, and that is an alarm", async () => {
    const secret = join(newFolder(), "key");
    writeFileSync(secret, "sk-of-mine");
    const openai = `[providers.openai]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\napi_key = "file:${secret}"\n`;
    const model = '[[models]]\nid = "gpt"\nprovider = "openai"\nfree = true\n';
    await using sluice = await start(openai + demo + model);
    const alarms = () => sluice.output.split("\n").filter((line) => line.startsWith('{"level":50'));
    rmSync(secret);
    await reload(sluice, openai + demo + model);
    await waitFor(() => alarms().length === 1, "the alarm");
    const warnings = [`provider "openai" is skipped: ${secret} does not exist; not listed: gpt`];
    expect(JSON.parse(alarms()[0] ?? "{}")).toMatchObject({ providers: ["openai"], warnings });
    // What is taken out on purpose is none.
    writeFileSync(secret, "sk-of-mine");
    await reload(sluice, openai + demo + model);
    await reload(sluice, demo);
    await sluice.request("/v1/models");
    expect(alarms()).toHaveLength(1);
  });

  test("metrics listen at the new address, and no longer at the old one", async () => {
    const [first, second] = [freePort(), freePort()];
    const config = (port: number) => `[admin]\nmetrics_listen = "127.0.0.1:${port}"\n${demo}`;
    const scrape = (port: number) =>
      fetch(`http://127.0.0.1:${port}/metrics`).then(
        ({ status }) => status,
        () => null,
      );
    await using sluice = await start(config(first));
    await reload(sluice, config(second));
    expect([await scrape(first), await scrape(second)]).toEqual([null, 200]);

    const taken = Bun.serve({ hostname: "127.0.0.1", port: first, fetch: () => new Response("mine") });
    await reload(sluice, config(first));
    await sluice.told(`admin.metrics_listen was not changed: port ${first} is in use`);
    expect(await scrape(second)).toBe(200);
    expect((await inForce(sluice)).admin.metrics_listen).toBe(`127.0.0.1:${second}`);
    await taken.stop(true);

    await reload(sluice, demo);
    expect(await scrape(second)).toBeNull();
  });

  test("traces go to the new collector", async () => {
    let received = 0;
    const collector = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => {
        received += 1;
        return Response.json({});
      },
    });
    await using sluice = await start(demo);
    const key = await sluice.createKey();
    await reload(sluice, `[tracing]\notlp_endpoint = "http://127.0.0.1:${collector.port}"\n${demo}`);
    const body = { model: "m", messages: [{ role: "user", content: "hello" }] };
    expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
    // What waits is sent when tracing is turned off again.
    await reload(sluice, demo);
    await waitFor(() => received > 0, "the span");
    await collector.stop(true);
  });

  test("what needs a restart is named, in the answer, the log and the dashboard, which shows what is in force", async () => {
    await using sluice = await start(demo);
    const before = await inForce(sluice);
    await reload(
      sluice,
      `[server]\nhost = "127.0.0.2"\nreuse_port = true\nmax_concurrent = 7\n[log]\nlevel = "debug"\n${demo}`,
    );
    const told = ["server.reuse_port has changed; that needs a restart"];
    for (const line of told) await sluice.told(line);
    await sluice.told("the new configuration is running, except for what needs a restart");
    const after = await inForce(sluice);
    expect(after.server).toEqual({ ...before.server, max_concurrent: 7 });
    expect(after.log.level).toBe("debug");
    expect(after.warnings).toEqual(told);
    await sluice.told("configuration partly reloaded");
    await reload(sluice, demo);
    expect((await inForce(sluice)).warnings).toEqual([]);
  });

  test("a file that is gone is missed, and the demo's models do not take its place", async () => {
    // Found in the working folder, not named: a start without it would take the built-in configuration.
    await using sluice = await Sluice.start({ config: demo, env: { SLUICE_CONFIG: "" } });
    const file = join(sluice.folder, "sluice.toml");
    const models = async () => {
      const list = (await (await sluice.request("/v1/models")).json()) as { data: { id: string }[] };
      return list.data.map(({ id }) => id);
    };
    renameSync(file, `${file}.aside`);
    process.kill(sluice.pid, "SIGHUP");
    await sluice.told("the old configuration keeps running");
    await sluice.told("this file does not exist");
    // An alarm, for those who watch the log by program.
    const alarm = () => sluice.output.split("\n").find((line) => line.startsWith('{"level":50'));
    await waitFor(() => alarm() !== undefined, "the alarm in the log");
    expect(alarm()).toContain("new configuration rejected");
    expect(await models()).toEqual(["m"]);
    await reload(sluice, demo.replace('"m"', '"n"'));
    expect(await models()).toEqual(["n"]);
  });
});

describe("the command line", () => {
  test("shows what is in force, what a file would change, and puts it in force", async () => {
    await using gateway = await start(`[server]\nmax_concurrent = 5\n${demo}`);
    const file = join(gateway.folder, "sluice.toml");
    const place = { folder: gateway.folder, env: { SLUICE_DATA: join(gateway.folder, "data") } };
    expect(Bun.TOML.parse((await sluice(place, "config", "show")).stdout)).toMatchObject({
      server: { max_concurrent: 5 },
    });
    writeFileSync(file, `[server]\nmax_concurrent = 6\nnode = "other"\n${demo}`);
    const { changes } = await sluiceJson<ConfigCheckView>(place, "config", "diff");
    expect(changes.map(({ where, before, after }) => [where, before, after])).toEqual([
      ["server.max_concurrent", "5", "6"],
      ["server.node", null, '"other"'],
    ]);
    expect((await inForce(gateway)).server["max_concurrent"]).toBe(5);
    const reloaded = await sluice(place, "config", "reload");
    expect([reloaded.code, reloaded.stderr]).toEqual([
      0,
      expect.stringContaining("server.node has changed; that needs a restart"),
    ]);
    expect((await inForce(gateway)).server["max_concurrent"]).toBe(6);
    const [entry] = await sluiceJson<AuditView[]>(place, "audit-log", "--search", "config.reload");
    expect(entry).toMatchObject({ actor: "cli", target: file, detail: "changed server.max_concurrent" });

    writeFileSync(file, `[server]\nmax_concurrent = "many"\n${demo}`);
    const refused = await sluice(place, "config", "reload");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("max_concurrent (line 2)")]);
    const compared = await sluice(place, "config", "diff");
    expect([compared.code, compared.stderr]).toEqual([1, expect.stringContaining("max_concurrent (line 2)")]);
    expect((await inForce(gateway)).server["max_concurrent"]).toBe(6);
  });

  test("says which models are not served, because the gateway lacks a secret that they need", async () => {
    await using gateway = await start(demo);
    const place = { folder: gateway.folder, env: { SLUICE_DATA: join(gateway.folder, "data") } };
    const provider = '[providers.other]\nkind = "openai"\napi_key = "env:NOT_SET_THERE"\n';
    const models = `${provider}[[models]]\nid = "n"\nprovider = "other"\nfree = true\n`;
    writeFileSync(join(gateway.folder, "sluice.toml"), demo + models);
    const { code, stderr } = await sluice(place, "config", "reload");
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('model "n" is not served: NOT_SET_THERE is not set'),
    ]);
  });

  test("says so where no gateway runs", async () => {
    const place = newPlace();
    expect((await sluice(place, "config", "diff")).stderr).toContain("no gateway has run on");
    await sluice(place, "keys", "create", "--mode", "credit");
    const { code, stderr } = await sluice(place, "config", "reload");
    expect([code, stderr]).toEqual([1, expect.stringContaining("no gateway on this machine uses")]);
  });
});

describe("a secret in a file that was rotated", () => {
  const secretConfig = (url: string) => `[providers.p]
kind = "openai-compatible"
base_url = "${url}/v1"
api_key = "file:key.txt"
[[models]]
id = "m"
provider = "p"
free = true
`;

  test("is used after a reload, which says so once", async () => {
    const provider = startProvider();
    await using sluice = await Sluice.start({
      config: secretConfig(provider.url),
      env: { SLUICE_ADMIN_TOKEN: token },
      fill: async (data) => {
        putEmptyLedger(data);
        writeFileSync(join(data, "..", "key.txt"), "first-key");
      },
    });
    const file = join(sluice.folder, "key.txt");
    const key = await sluice.createKey();
    const ask = () =>
      sluice.request("/v1/chat/completions", {
        key,
        body: { model: "m", messages: [{ role: "user", content: "Hello" }] },
      });
    await (await ask()).text();
    writeFileSync(file, "second-key");
    const { stdout, stderr } = await sluice.cli("config", "reload");
    expect(stdout + stderr).toContain(`the new secret in ${file} is used`);
    expect(stdout + stderr + sluice.output).not.toContain("second-key");
    await (await ask()).text();
    expect(provider.requests.map(({ headers }) => headers["authorization"])).toEqual([
      "Bearer first-key",
      "Bearer second-key",
    ]);
    const again = await sluice.cliJson<{ new_secrets: string[] }>("config", "reload");
    expect(again.new_secrets).toEqual([]);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    writeFileSync(file, "third-key");
    const path = "/admin/api/v1/config/reload";
    const response = await sluice.request(path, { method: "POST", headers, body: {} });
    expect(((await response.json()) as { new_secrets: string[] }).new_secrets).toEqual([file]);
    provider.stop();
  });
});
