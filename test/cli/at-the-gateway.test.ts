import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { commandSocket, helloPath } from "../../src/base/system/command-socket.ts";
import { openStore } from "../../src/store/open.ts";
import { keyRecord, settleItem } from "../store/fixtures.ts";
import { putEmptyLedger } from "../store/sqlite/empty-ledger.ts";
import { openGatewayStore } from "../store/sqlite/fixtures.ts";
import { newFolder } from "../support/new-folder.ts";
import { program, run, serve } from "../support/process.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { sluice as command, sluiceJson as commandJson } from "./fixtures.ts";

interface AuditLine {
  readonly actor: string;
  readonly address: string;
  readonly action: string;
}

let sluice: Sluice;
beforeAll(async () => {
  sluice = await startSluice();
});
afterAll(() => sluice.dispose());

const dataOf = ({ folder }: Sluice) => join(folder, "data");

test("only the owner can connect to the socket", () => {
  expect(statSync(commandSocket(dataOf(sluice))).mode & 0o777).toBe(0o600);
});

test("another user is told who can run commands", async () => {
  const socket = commandSocket(dataOf(sluice));
  // Only root can change its user. An owner without permission is refused by the system in the same way.
  const isRoot = process.getuid?.() === 0;
  const other = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
  if (!isRoot) chmodSync(socket, 0o000);
  const child = Bun.spawn([...other, ...program(), "keys", "list", "--data", dataOf(sluice)], {
    cwd: "/tmp",
    env: { PATH: process.env["PATH"] ?? "", HOME: "/tmp" },
    stderr: "pipe",
  });
  const stderr = await new Response(child.stderr).text();
  if (!isRoot) chmodSync(socket, 0o600);
  expect([await child.exited, stderr]).toEqual([
    1,
    expect.stringMatching(/takes commands from .*root.* only/),
  ]);
});

test("an operation that an older gateway does not have is told in one sentence", async () => {
  const response = await fetch("http://gateway/keys/of-tomorrow/dance", {
    method: "POST",
    unix: commandSocket(dataOf(sluice)),
  });
  const { error } = (await response.json()) as { error: { message: string } };
  expect([response.status, error.message]).toEqual([
    404,
    expect.stringMatching(/^the running gateway \(release .+\) does not have this operation; restart it/),
  ]);
});

test("a command that an older gateway does not have exits with 1, and goes around it no more than around any other", async () => {
  const folder = newFolder();
  const hello = { version: "0.0.9", pid: 1, address: "http://127.0.0.1:1", store: null };
  const error = {
    code: "unknown_operation",
    message: "the running gateway (release 0.0.9) is older; restart it",
  };
  const fetch = ({ url }: Request) =>
    new URL(url).pathname === helloPath ? Response.json(hello) : Response.json({ error }, { status: 404 });
  const older = Bun.serve({ unix: commandSocket(folder), fetch });
  const { code, stderr } = await command({ folder, env: { SLUICE_DATA: folder } }, "keys", "list");
  await older.stop(true);
  expect([code, stderr]).toEqual([1, `error: ${error.message}\n`]);
  expect(existsSync(join(folder, "sluice.db"))).toBe(false);
});

test("an export to a slow reader holds up no change, and exits with 1 if its gateway ends", async () => {
  await using filled = await startSluice({
    fill: async (dir) => {
      putEmptyLedger(dir);
      const store = await openGatewayStore(dir, systemClock);
      const key = keyRecord();
      await store.insertKey(key, 1_000_000_000);
      for (let turn = 0; turn < 10; turn += 1)
        await store.commit(Array.from({ length: 1000 }, () => settleItem(key.id, 1)));
      await store.close();
    },
  });
  const env = { PATH: process.env["PATH"] ?? "", HOME: filled.folder };
  const reading = ["ledger", "export", "--data", dataOf(filled)];
  const reader = Bun.spawn([...program(), ...reading], { env, stdout: "pipe", stderr: "pipe" });
  const output = reader.stdout.getReader();
  expect((await output.read()).done).toBe(false);
  const key = await filled.createKey();
  expect(await filled.cliJson<object>("keys", "disable", key.id)).toHaveProperty("changed", true);
  await filled.kill9();
  for (let isOver = false; !isOver; ) isOver = (await output.read()).done;
  const stderr = await new Response(reader.stderr).text();
  expect([await reader.exited, stderr]).toEqual([1, expect.stringContaining("the export is incomplete")]);
}, 60_000);

test("a change is in force when the command returns", async () => {
  const key = await sluice.createKey();
  const status = async () => (await sluice.request("/v1/models", { key })).status;
  for (let turn = 0; turn < 5; turn += 1) {
    await sluice.cliJson("keys", "disable", key.id);
    expect(await status()).toBe(401);
    await sluice.cliJson("keys", "enable", key.id);
    expect(await status()).toBe(200);
  }
  const rotated = await sluice.cliJson<{ key: string }>("keys", "rotate", key.id);
  expect(await status()).toBe(401);
  expect((await sluice.request("/v1/models", { key: { ...key, key: rotated.key } })).status).toBe(200);
});

test("a key shows what its open requests have reserved", async () => {
  const key = await sluice.createKey();
  expect(await sluice.cliJson<object>("keys", "show", key.id)).toHaveProperty("reserved", 0);
});

test("the audit log names the user who called, once", async () => {
  const key = await sluice.createKey();
  await sluice.cliJson("keys", "suspend", key.id);
  const lines = await sluice.cliJson<AuditLine[]>("audit-log", "--search", key.prefix);
  expect(lines.map(({ actor, action }) => [actor, action])).toEqual([
    ["cli", "key.suspend"],
    ["cli", "key.create"],
  ]);
  expect(new Set(lines.map(({ address }) => address)).size).toBe(1);
});

test("commands at the same time are each done once", async () => {
  const key = await sluice.createKey({ credit: 1 });
  const texts = ["a", "a", "b", "b", "c", "c"];
  await Promise.all(texts.map((text) => sluice.cliJson("keys", "topup", key.id, "1", "--reference", text)));
  const shown = await sluice.cliJson<{ credit: { balance: number } }>("keys", "show", key.id);
  expect(shown.credit.balance).toBe(4);
});

test("commands at the same time without a gateway are each done once", async () => {
  const folder = newFolder();
  const place = { folder, env: { SLUICE_DATA: join(folder, "data") } };
  const { id } = await commandJson<{ id: string }>(place, "keys", "create", "--mode", "credit");
  await Promise.all(
    ["a", "a", "b"].map((text) => commandJson(place, "keys", "topup", id, "1", "--reference", text)),
  );
  const shown = await commandJson<{ credit: { balance: number } }>(place, "keys", "show", id);
  expect(shown.credit.balance).toBe(2);
});

test("a path that is too long for a socket's name works", async () => {
  const folder = newFolder();
  const data = join(folder, "a-long-name-".repeat(10), "data");
  mkdirSync(join(data, ".."), { recursive: true });
  const where = { cwd: folder, env: { PATH: process.env["PATH"] ?? "", HOME: folder, SLUICE_DATA: data } };
  const server = await serve([], where);
  try {
    const { code, stderr } = await run(["keys", "create", "--mode", "credit"], where);
    expect([code, stderr]).toEqual([0, `  in ${data}\n`]);
    const { stdout } = await run(["keys", "list", "--json"], where);
    expect(stdout).toContain('"reserved":0');
  } finally {
    server.signal("SIGKILL");
    await server.exited;
  }
}, 30_000);

test("a gateway that hangs is named, and nothing goes around it", async () => {
  await using hanging = await startSluice();
  const key = await hanging.createKey();
  process.kill(hanging.pid, "SIGSTOP");
  const startedMs = performance.now();
  const { code, stderr } = await hanging.cli("keys", "disable", key.id);
  process.kill(hanging.pid, "SIGCONT");
  expect(code).toBe(1);
  expect(performance.now() - startedMs).toBeLessThan(30_000);
  expect(stderr).toContain(`the gateway on ${dataOf(hanging)} does not respond`);
  expect(stderr).toContain("nothing was changed");
  expect(await hanging.cliJson<object>("keys", "show", key.id)).toHaveProperty("status", "active");
}, 40_000);

test("a socket that a killed gateway left is no gateway", async () => {
  await using killed = await startSluice();
  const key = await killed.createKey();
  await killed.kill9();
  expect(existsSync(commandSocket(dataOf(killed)))).toBe(true);
  expect(await killed.cliJson<object>("keys", "disable", key.id)).toHaveProperty("changed", true);
  await killed.restart();
  expect((await killed.request("/v1/models", { key })).status).toBe(401);
}, 30_000);

test("a lock without a socket is reported with its process", async () => {
  const folder = newFolder();
  const place = { folder, env: { SLUICE_DATA: folder } };
  const store = await openStore({ dir: folder, clock: systemClock, role: "gateway" });
  try {
    const startedMs = performance.now();
    const { code, stderr } = await command(place, "keys", "list");
    expect(code).toBe(1);
    expect(performance.now() - startedMs).toBeLessThan(30_000);
    expect(stderr).toContain(`has locked the data folder ${folder} and accepts no commands`);
    expect(stderr).toContain("restart it");
  } finally {
    await store.close();
  }
}, 40_000);

test("commands succeed while the gateway starts and stops, and each is done once", async () => {
  await using restarting = await startSluice();
  const key = await restarting.createKey({ credit: 0 });
  let isOver = false;
  let entered = 0;
  const topUps = (async () => {
    while (!isOver) {
      const { code, stderr } = await restarting.cli("keys", "topup", key.id, "1");
      if (code !== 0) throw new Error(stderr);
      entered += 1;
    }
  })();
  for (let turn = 0; turn < 3; turn += 1) {
    expect(await restarting.stop()).toBe(0);
    await restarting.restart();
  }
  isOver = true;
  await topUps;
  const shown = await restarting.cliJson<{ credit: { balance: number } }>("keys", "show", key.id);
  expect(shown.credit.balance).toBe(entered);
  expect(entered).toBeGreaterThan(3);
}, 60_000);
