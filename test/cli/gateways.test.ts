import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRemoteCapable } from "../../src/cli/help.ts";
import { buildProgram, fullName } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { newPlace, type Place, sluice } from "./fixtures.ts";

let gateway: Sluice;
let admin: string;
let viewer: string;

beforeAll(async () => {
  gateway = await startSluice({
    config: '[providers.openai]\nkind = "openai"\napi_key = "env:KEY"\nmodels = ["gpt-5.4"]\n',
    env: { KEY: "sk-x" },
  });
  const tokenOf = (role: string) =>
    gateway.cliJson<{ token: string }>("admin-tokens", "create", "--label", `of-${role}`, "--role", role);
  admin = (await tokenOf("admin")).token;
  viewer = (await tokenOf("viewer")).token;
});
afterAll(() => gateway.dispose());

/** A machine without a gateway, whose proxy would swallow what is sent to it. */
function elsewhere(env: Record<string, string> = {}): Place {
  const place = newPlace();
  return { ...place, env: { HOME: place.folder, HTTP_PROXY: "http://127.0.0.1:1", ...env } };
}

test("a command is performed at the gateway that --gateway names, before or after the command", async () => {
  const place = elsewhere({ SLUICE_TOKEN: admin });
  const before = await sluice(
    place,
    "--gateway",
    gateway.url,
    "keys",
    "create",
    "--mode",
    "credit",
    "--json",
  );
  expect(JSON.parse(before.stdout)).toMatchObject({ mode: "credit", gateway: gateway.url });
  const after = await sluice(place, "keys", "list", `--gateway=${gateway.url}`, "--json");
  expect(JSON.parse(after.stdout)).toEqual(await gateway.cliJson<object>("keys", "list"));
  expect(existsSync(join(place.folder, "sluice-data"))).toBe(false);
});

test("a remembered gateway is called by its name, and by no name once it is used; data that is named comes first", async () => {
  const place = elsewhere({ SLUICE_TOKEN: admin });
  expect((await sluice(place, "gateways", "add", "work", gateway.url)).code).toBe(0);
  const file = join(place.folder, ".config", "sluice", "gateways.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const later = { ...place, env: { HOME: place.folder } };
  expect((await sluice(later, "--gateway", "work", "keys", "list")).code).toBe(0);
  expect((await sluice(later, "keys", "list")).stderr).toContain("./sluice-data has no data yet");
  await sluice(later, "gateways", "use", "work");
  expect((await sluice(later, "keys", "list")).code).toBe(0);
  expect((await sluice(later, "keys", "list", "--data", "none")).stderr).toContain("has no data yet");
  const { stdout } = await sluice(later, "gateways", "list", "--json");
  expect(JSON.parse(stdout)).toEqual([{ name: "work", url: gateway.url, used: true }]);
  for (const command of [
    ["backup", "b"],
    ["restore", "b", "--yes"],
    ["content", "rekey", "--new-key", "env:K"],
  ]) {
    const { code, stderr } = await sluice(later, ...command);
    expect([code, stderr]).toEqual([1, expect.stringContaining("`sluice gateways use work` is in effect")]);
  }
  expect((await sluice(later, "backup", "b", "--data", "none")).stderr).toContain("has no data yet");
  await sluice(later, "gateways", "remove", "work");
  expect((await sluice(later, "--gateway", "work", "keys", "list")).stderr).toContain(
    'no gateway is called "work" (known: none)',
  );
});

const fromElsewhere: Readonly<Record<string, readonly string[]>> = {
  "config show": ["config", "show"],
  "config diff": ["config", "diff"],
  reconcile: ["reconcile", "--provider", "openai", "--from", "2026-10-01", "--to", "2026-10-01", "bill.csv"],
  "models update": ["models", "update", "--from", "prices.toml", "--yes"],
  "ledger audit": ["ledger", "audit"],
  usage: ["usage"],
  "caps list": ["caps", "list"],
};

test("reports, prices and the configuration are those of the gateway elsewhere", async () => {
  const place = elsewhere({ SLUICE_TOKEN: admin });
  writeFileSync(join(place.folder, "bill.csv"), "date,model,requests\n2026-10-01,m,0\n");
  writeFileSync(
    join(place.folder, "prices.toml"),
    '[[models]]\nid = "gpt-5.4"\nprovider = "openai"\nprice = { input = 2.6, output = 15.1 }\n',
  );
  for (const [name, argv] of Object.entries(fromElsewhere)) {
    const { code, stderr, stdout } = await sluice(place, "--gateway", gateway.url, ...argv, "--json");
    expect({ name, code, stderr }).toMatchObject({ name, code: 0 });
    expect(JSON.parse(stdout)).toBeObject();
  }
  const { stdout } = await sluice(place, "--gateway", gateway.url, "models", "list", "--json");
  const models = JSON.parse(stdout) as { id: string; price: { input: number } }[];
  expect(models.find(({ id }) => id === "gpt-5.4")?.price.input).toBe(2.6);
  expect(existsSync(join(place.folder, "sluice-data"))).toBe(false);
});

test("a token without the role is told which it needs", async () => {
  const place = elsewhere({ SLUICE_TOKEN: viewer });
  const { code, stderr } = await sluice(
    place,
    ...["--gateway", gateway.url, "keys", "create", "--mode", "credit"],
  );
  expect(code).toBe(1);
  expect(stderr).toContain("admin");
});

test("a token that was cut when it was copied is not sent", async () => {
  const place = elsewhere({ SLUICE_TOKEN: "slua_…" });
  const { code, stderr } = await sluice(place, "--gateway", gateway.url, "keys", "list");
  expect([code, stderr]).toEqual([1, expect.stringContaining("is incomplete: copy it again")]);
});

type Program = ReturnType<typeof buildProgram>;

/** Every command that takes no `--gateway`, with something for each of its arguments and options that it needs. */
function localCommands(command: Program): string[][] {
  if (command.commands.length > 0) return command.commands.flatMap(localCommands);
  if (isRemoteCapable(command)) return [];
  const words = command.registeredArguments.map(({ argChoices }) => argChoices?.[0] ?? "x");
  const options = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long, argChoices }) => [long ?? "", argChoices?.[0] ?? "x"]);
  return [[...fullName(command).split(" ").slice(1), ...words, ...options]];
}

test("what works on this machine says so, and does nothing", async () => {
  const place = elsewhere({ SLUICE_TOKEN: admin });
  const commands = localCommands(buildProgram({} as Terminal));
  for (const needed of ["serve", "backup x", "restore x", "store check", "content rekey --new-key x"])
    expect(commands.map((words) => words.join(" "))).toContain(needed);
  for (const words of commands) {
    const { code, stderr, stdout } = await sluice(place, "--gateway", gateway.url, ...words);
    expect({ words, code, stdout }).toEqual({ words, code: 1, stdout: "" });
    expect(stderr).toContain("only on the gateway's own machine");
  }
  expect(readdirSync(place.folder)).toEqual([]);
});

test.each([
  ["GET", ["keys", "list"]],
  ["POST", ["keys", "create", "--mode", "credit"]],
])(
  "a gateway elsewhere that is older than the command is told in one sentence (%s)",
  async (method, words) => {
    const unknown = await globalThis.fetch(`${gateway.url}/admin/api/v1/of-tomorrow`, {
      method,
      headers: { authorization: `Bearer ${admin}` },
    });
    const body = await unknown.text();
    const { status, headers } = unknown;
    const fetch = () => new Response(body, { status, headers });
    const older = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
    const url = `http://127.0.0.1:${older.port}`;
    const { code, stderr } = await sluice(elsewhere({ SLUICE_TOKEN: admin }), "--gateway", url, ...words);
    await older.stop(true);
    const said = `error: the gateway at ${url} does not have this operation; it may be older than this command\n`;
    expect([code, stderr]).toEqual([1, said]);
  },
);

test("a redirect is not followed, so the token stays with its own address", async () => {
  let sent = 0;
  const fetch = () => {
    sent += 1;
    return new Response("hello");
  };
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
  const target = `http://127.0.0.1:${other.port}/admin`;
  const redirecting = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.redirect(target, 308),
  });
  try {
    const place = elsewhere({ SLUICE_TOKEN: admin });
    const url = `http://127.0.0.1:${redirecting.port}`;
    const { code, stderr } = await sluice(place, "--gateway", url, "keys", "list");
    expect(code).toBe(1);
    expect(stderr).toContain(`${url} redirects to ${target}`);
    const wrong = await sluice(place, "--gateway", `http://127.0.0.1:${other.port}`, "keys", "list");
    expect(wrong.stderr).toContain("let a proxy in front pass that path");
    expect(sent).toBe(1);
  } finally {
    await other.stop(true);
    await redirecting.stop(true);
  }
});

test("a token in the environment is sent to an address, and to no gateway that has another by name", async () => {
  const place = elsewhere({ SLUICE_TOKEN: viewer });
  await sluice(place, "gateways", "add", "work", gateway.url);
  await sluice(place, "gateways", "use", "work");
  const other = { ...place, env: { ...place.env, SLUICE_TOKEN: admin } };
  for (const words of [
    ["keys", "list", "--gateway", "work"],
    ["keys", "list"],
  ]) {
    const { code, stderr } = await sluice(other, ...words);
    expect([code, stderr]).toEqual([1, expect.stringContaining("SLUICE_TOKEN is not the token of work")]);
  }
  expect((await sluice(other, "keys", "list", "--gateway", gateway.url)).code).toBe(0);
  expect((await sluice(place, "keys", "list")).code).toBe(0);
});

test("a stored token is not sent to another address", async () => {
  const place = elsewhere({ SLUICE_TOKEN: admin });
  await sluice(place, "gateways", "add", "work", gateway.url);
  const { code, stderr } = await sluice(
    { ...place, env: { HOME: place.folder } },
    ...["--gateway", "http://127.0.0.1:1", "keys", "list"],
  );
  expect(code).toBe(1);
  expect(stderr).toContain("no token for http://127.0.0.1:1");
});
