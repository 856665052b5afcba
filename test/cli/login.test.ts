import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configFor, upstreamKeys } from "../support/config.ts";
import { program } from "../support/process.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { newPlace, sluice } from "./fixtures.ts";

const signIn = `
[server]
trusted_proxies = ["127.0.0.1"]

[admin]
members = "everyone"
user_header = "x-forwarded-email"
member_keys = { account = "crowd", cap = "5/day" }
`;

const configWith = (tail: string) => configFor({ url: "http://127.0.0.1:1", tail });
let gateway: Sluice;

beforeAll(async () => {
  const config = configWith(signIn);
  gateway = await startSluice({ config, env: upstreamKeys });
  await gateway.cli("accounts", "create", "--mode", "credit", "--label", "crowd", "--credit", "10");
});
afterAll(() => gateway.dispose());

/** Starts `sluice login`, and approves or denies its code as a person whom the proxy has signed in. */
function login(verb: "approve" | "deny", home: string, ...args: string[]) {
  return loginOf("bob@example.com", 200, verb, home, ...args);
}

async function loginOf(
  person: string,
  status: number,
  verb: "approve" | "deny",
  home: string,
  ...args: string[]
) {
  const child = Bun.spawn([...program(), "login", gateway.url, "--no-browser", ...args], {
    env: { HOME: home, PATH: process.env["PATH"] ?? "" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let stderr = "";
  for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
    stderr += piece;
    if (/code [A-Z]{4}-[A-Z]{4}\./.test(stderr)) break;
  }
  const [, code = ""] = /code ([A-Z]{4}-[A-Z]{4})\./.exec(stderr) ?? [];
  expect(stderr).toContain(`${gateway.url}/usage/device/${code}`);
  const response = await fetch(`${gateway.url}/admin/api/v1/device/${verb}`, {
    method: "POST",
    body: JSON.stringify({ user_code: code }),
    headers: { origin: gateway.url, "x-forwarded-email": person, "x-forwarded-for": "192.0.2.1" },
  });
  expect(response.status).toBe(status);
  if (status !== 200) child.kill();
  const [stdout, exit] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return { stdout, exit };
}

function newHome(): string {
  const home = join(newPlace().folder, "home");
  mkdirSync(home);
  return home;
}

test("login shows the key once, with settings that work", async () => {
  const { stdout, exit } = await login("approve", newHome());
  expect(exit).toBe(0);
  const [key = ""] = /slu_\w{36}/.exec(stdout) ?? [];
  expect(stdout).toContain(`curl ${gateway.url}/v1/chat/completions`);
  const models = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  expect(models.status).toBe(200);
  const shown = JSON.parse((await gateway.cli("keys", "show", key.slice(0, 12), "--json")).stdout);
  expect(shown).toMatchObject({ owner: "bob@example.com", caps: [{ limit: 5, period: "day" }] });
  expect(shown.sign_in).toBe("bob@example.com");
  const { stdout: text } = await gateway.cli("keys", "show", key.slice(0, 12));
  expect(text).toMatch(/ends with +the sign-in of bob@example.com/);
  const log = (await gateway.cli("audit-log", "--json")).stdout;
  expect(log).toContain("sluice login");
}, 30_000);

test("login --for writes the key where connect --write would, and connect --undo takes it back", async () => {
  const home = newHome();
  const { stdout, exit } = await login("approve", home, "--for", "claude-code");
  expect(exit).toBe(0);
  expect(stdout).not.toMatch(/slu_\w{36}/);
  const file = join(home, ".claude", "settings.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
    env: { ANTHROPIC_BASE_URL: gateway.url },
  });
  const undone = await sluice({ folder: home, env: { HOME: home } }, "connect", "claude-code", "--undo");
  expect(undone.code).toBe(0);
  expect(existsSync(file)).toBe(false);
}, 30_000);

test("login --operator remembers a token with the person's role, which ends with the role", async () => {
  const config = configWith(signIn.replace("[admin]", '[admin]\nadmins = ["ada@example.com"]'));
  await gateway.reload(config);
  const home = newHome();
  const { stdout, exit } = await loginOf("ada@example.com", 200, "approve", home, "--operator", "--json");
  expect(exit).toBe(0);
  const { host } = new URL(gateway.url);
  expect(JSON.parse(stdout)).toEqual({ name: host, url: gateway.url, role: "admin" });
  expect(stdout).not.toContain("slua_");
  const elsewhere = { folder: home, env: { HOME: home } };
  const create = ["--gateway", host, "keys", "create", "--mode", "credit", "--json"];
  expect((await sluice(elsewhere, ...create)).code).toBe(0);
  const log = await gateway.cliJson<{ actor: string; action: string }[]>("audit-log");
  expect(log.find(({ action }) => action === "key.create")?.actor).toStartWith("token ada@example.com");
  await loginOf("bob@example.com", 403, "approve", newHome(), "--operator");

  await gateway.reload(configWith(signIn));
  const refused = await sluice(elsewhere, ...create);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("this needs the role")]);
}, 30_000);

test("login ends with exit 1 if the person denies it", async () => {
  const { exit, stdout } = await login("deny", newHome());
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: "" });
}, 30_000);

test("login asks for no code if the client's file cannot be changed", async () => {
  const home = newHome();
  mkdirSync(join(home, ".codex"));
  writeFileSync(join(home, ".codex", "config.toml"), "broken = [");
  const place = { folder: home, env: { HOME: home } };
  const said = await sluice(place, "login", gateway.url, "--for", "codex");
  expect(said.code).toBe(1);
  expect(said.stderr).toContain("config.toml");
  expect(said.stderr).not.toContain("approve");
});

test("login says so where nobody can sign in, or nothing answers", async () => {
  const plain = await startSluice();
  try {
    const refused = await sluice(newPlace(), "login", plain.url);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("no sign-in for terminals") });
  } finally {
    await plain.dispose();
  }
  const nothing = await sluice(newPlace(), "login", "http://127.0.0.1:1");
  expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining("no response from") });
}, 30_000);

test("login blames the proxy in front where a proxy answers", async () => {
  using proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response("<h1>404 Not Found</h1>", { status: 404 }),
  });
  const refused = await sluice(newPlace(), "login", proxy.url.origin);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("/.well-known/oauth-authorization-server with status 404");
  expect(refused.stderr).toContain("a proxy in front of it must forward");
}, 30_000);

test("a reload that takes the person off the list ends the key, and not one that an operator created", async () => {
  const { stdout } = await login("approve", newHome());
  const [key = ""] = /slu_\w{36}/.exec(stdout) ?? [];
  const made = await gateway.cli(
    ...["keys", "create", "--account", "crowd", "--owner", "bob@example.com", "--json"],
  );
  const statusWith = async (secret: string) => {
    const headers = { authorization: `Bearer ${secret}` };
    return (await fetch(`${gateway.url}/v1/models`, { headers })).status;
  };
  const operators: string = JSON.parse(made.stdout).key;
  expect(JSON.parse(made.stdout).sign_in).toBeNull();
  await waitFor(async () => (await statusWith(operators)) === 200, "the key to be known");
  expect(await statusWith(key)).toBe(200);
  await gateway.reload(configWith(signIn.replace('"everyone"', '["anne@example.com"]')));
  expect(await statusWith(key)).toBe(200);
  // The signal is not enough, because a key would be suspended.
  expect((await gateway.cli("config", "reload", "--yes")).code).toBe(0);
  await waitFor(async () => (await statusWith(key)) === 401, "the key to end");
  expect(await statusWith(operators)).toBe(200);
}, 30_000);
