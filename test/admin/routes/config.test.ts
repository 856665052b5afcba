import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import type { ConfigCheckView, ConfigReloadView, ConfigTextView } from "../../../src/admin/config/schema.ts";
import type { Page } from "../../../src/admin/formats/shapes.ts";
import type { AuditView } from "../../../src/admin/system/schema.ts";
import { type AdminServer, startAdmin, tracingSecret } from "./fixtures.ts";

let admin: AdminServer;
let file: string;
let original: string;

beforeAll(async () => {
  admin = await startAdmin('[server]\ntrusted_proxies = ["10.0.0.1"]\nmax_concurrent = 7');
  file = admin.deps.settings().source?.file ?? "";
  original = readFileSync(file, "utf8");
});
afterAll(() => admin[Symbol.asyncDispose]());

const check = () => admin.json<ConfigCheckView>("/config/check");

test("the configuration in force is TOML that names secrets and does not hold them", async () => {
  const { file: named, toml } = await admin.json<ConfigTextView>("/config/toml");
  expect(named).toBe(file);
  expect(Bun.TOML.parse(toml)).toMatchObject({
    server: { max_concurrent: 7 },
    tracing: { headers: { authorization: "env:TRACING" } },
  });
  expect(toml).not.toContain(tracingSecret);
});

test("a file that is in force differs in nothing", async () => {
  expect(await check()).toMatchObject({ ok: true, file, problems: [], changes: [] });
});

test("a bad file is told with its lines, and not put in force", async () => {
  writeFileSync(file, original.replace("max_concurrent = 7", 'max_concurrent = "many"\nnonsense = 1'));
  const { ok, problems, changes } = await check();
  expect([ok, changes]).toEqual([false, []]);
  const line = original.split("\n").indexOf("max_concurrent = 7") + 1;
  expect(problems.map((problem) => problem.line)).toEqual([line + 1, line]);
  const refused = await admin.call("/config/reload", { method: "POST", body: "{}" });
  expect([refused.status, await refused.json()]).toEqual([
    409,
    { error: { code: "invalid_configuration", message: expect.stringContaining(`(line ${line + 1})`) } },
  ]);
  writeFileSync(file, `${original}\n[broken`);
  expect((await check()).problems).toMatchObject([{ message: expect.any(String) }]);
  expect(admin.deps.settings().server.maxConcurrent).toBe(7);
});

test("what was checked is put in force, and the audit log says by whom and what it changed", async () => {
  writeFileSync(file, original.replace("max_concurrent = 7", "max_concurrent = 8\nport = 1234"));
  const { digest, changes } = await check();
  // Part of the file may be secret, and a viewer who knows the rest could try out what a plain hash is of.
  expect(digest).not.toBe(Bun.SHA256.hash(readFileSync(file, "utf8"), "hex"));
  expect(changes.map(({ where, needs_restart }) => [where, needs_restart])).toEqual([
    ["server.max_concurrent", false],
    ["server.port", true],
  ]);
  const stale = await admin.call("/config/reload", { method: "POST", body: '{"digest":"another"}' });
  expect([stale.status, admin.deps.settings().server.maxConcurrent]).toEqual([409, 7]);
  const reloaded = await admin.post<ConfigReloadView>("/config/reload", { digest });
  expect(reloaded.needs_restart).toEqual(["server.port has changed; that needs a restart"]);
  expect(admin.deps.settings().server.maxConcurrent).toBe(8);
  expect((await check()).changes.map(({ where }) => where)).toEqual(["server.port"]);
  const { data } = await admin.json<Page<AuditView>>("/audit?limit=1");
  expect(data).toMatchObject([
    {
      action: "config.reload",
      target: file,
      actor: "token",
      detail: "changed server.max_concurrent",
    },
  ]);
});
