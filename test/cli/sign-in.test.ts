import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { SignInView } from "../../src/admin/auth/sign-ins/schema.ts";
import { configFor, upstreamKeys } from "../support/config.ts";
import { program } from "../support/process.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { newPlace, sluice } from "./fixtures.ts";

const signIn = `
[server]
trusted_proxies = ["127.0.0.1"]

[admin]
members = "everyone"
user_header = "x-forwarded-email"
member_keys = { account = "crowd", cap = "5/day" }
`;

let gateway: Sluice;

beforeAll(async () => {
  const config = configFor({ url: "http://127.0.0.1:1", tail: signIn });
  gateway = await startSluice({ config, env: upstreamKeys });
  await gateway.cli("accounts", "create", "--mode", "credit", "--label", "crowd", "--credit", "10");
});
afterAll(() => gateway.dispose());

function newHome(): string {
  const home = join(newPlace().folder, "home");
  mkdirSync(home);
  return home;
}

/** A second gateway, whose members share a token budget. */
async function startWithBudget(): Promise<Sluice> {
  const config = configFor({ url: "http://127.0.0.1:1", tail: signIn });
  const other = await startSluice({ config, env: upstreamKeys });
  await other.cli("accounts", "create", "--mode", "token_budget", "--label", "crowd", "--budget", "1000");
  return other;
}

/** Runs `sluice login --sign-in`, approved by a person whom the proxy has signed in. */
async function login(home: string, ...args: string[]) {
  return loginAt(gateway.url, home, ...args);
}

async function loginAt(url: string, home: string, ...args: string[]) {
  const { origin } = new URL(url);
  const child = Bun.spawn([...program(), "login", url, "--sign-in", "--no-browser", ...args], {
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
  const response = await fetch(`${origin}/admin/api/v1/device/approve`, {
    method: "POST",
    body: JSON.stringify({ user_code: code }),
    headers: { origin, "x-forwarded-email": "bob@example.com", "x-forwarded-for": "192.0.2.1" },
  });
  expect(response.status).toBe(200);
  const [stdout, exit] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return { stdout, exit };
}

function run(home: string, ...args: string[]) {
  return sluice({ folder: home, env: { HOME: home } }, ...args);
}

const folderIn = (home: string) => join(home, ".config", "sluice", "sign-ins");
const fileIn = (home: string) => join(folderIn(home), readdirSync(folderIn(home))[0] ?? "none");

/** As after a part of the token's time. */
function expireIn(home: string, ms: number): void {
  const saved = JSON.parse(readFileSync(fileIn(home), "utf8"));
  writeFileSync(fileIn(home), JSON.stringify({ ...saved, accessEndsAtMs: Date.now() + ms }));
}

async function statusOf(token: string): Promise<number> {
  return (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status;
}

describe("a machine that is signed in", () => {
  test("has a token for programs, refreshes it once for all of them, and is signed out", async () => {
    const home = newHome();
    const { stdout, exit } = await login(home);
    expect([exit, stdout]).toEqual([0, expect.stringContaining(`Signed in to ${gateway.url}`)]);
    expect(stdout).not.toMatch(/sl[ur]_\w{36}/);
    expect([statSync(fileIn(home)).mode & 0o777, statSync(folderIn(home)).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    const first = await run(home, "token", "--url", gateway.url);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(/^slu_\w{36}\n$/);
    expect(await statusOf(first.stdout.trim())).toBe(200);
    expect((await run(home, "token", "--url", `${gateway.url}/v1/`)).stdout).toBe(first.stdout);
    expireIn(home, 4 * 60_000);
    const all = await Promise.all(Array.from({ length: 6 }, () => run(home, "token", "--url", gateway.url)));
    const tokens = new Set(all.map(({ code, stdout: token }) => `${code} ${token}`));
    expect(tokens.size).toBe(1);
    expect([...tokens][0]).not.toContain(first.stdout.trim());
    const { token, ends_at: endsAt } = JSON.parse(
      (await run(home, "token", "--url", gateway.url, "--json")).stdout,
    );
    expect(await statusOf(token)).toBe(200);
    expect(Date.parse(endsAt)).toBeGreaterThan(Date.now() + 3_500_000);
    expect(await run(home, "logout", gateway.url)).toMatchObject({
      code: 0,
      stdout: `✓ Signed out of ${gateway.url}.\n`,
    });
    expect([await statusOf(token), await statusOf(first.stdout.trim())]).toEqual([401, 401]);
    expect(await run(home, "token", "--url", gateway.url)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `error: this machine is not signed in; run sluice login ${gateway.url} --sign-in\n`,
    });
    expect((await run(home, "logout", gateway.url)).code).toBe(1);
  }, 60_000);

  test("is listed, and learns that its sign-in was revoked", async () => {
    const home = newHome();
    await login(home);
    const list = await gateway.cliJson<readonly SignInView[]>(
      "sign-ins",
      "list",
      "--person",
      "Bob@example.com",
    );
    expect(list[0]).toMatchObject({ person: "bob@example.com", client: "sluice", end_reason: null });
    const id = list[0]?.id ?? "";
    expect((await gateway.cli("sign-ins", "revoke", id)).code).not.toBe(0);
    expect((await gateway.cli("sign-ins", "revoke", id, "--yes")).code).toBe(0);
    expect((await gateway.cli("sign-ins", "revoke", "sgn_none", "--yes")).stderr).toContain(
      "no sign-in sgn_none",
    );
    expireIn(home, 0);
    const ended = await run(home, "token", "--url", gateway.url);
    expect(ended).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `error: the sign-in at ${gateway.url} has ended; run sluice login ${gateway.url} --sign-in\n`,
    });
    const log = (await gateway.cli("audit-log", "--json")).stdout;
    for (const action of ["sign_in.begin", "sign_in.end", "sign_in.revoke"]) expect(log).toContain(action);
  }, 60_000);

  test("keeps using its token while the gateway is away, and takes over a lock that was left", async () => {
    const home = newHome();
    await login(home);
    const saved = JSON.parse(readFileSync(fileIn(home), "utf8"));
    const away = {
      ...saved,
      token: saved.token.replace(/:\d+/, ":1"),
      url: saved.url.replace(/:\d+/, ":1"),
      revocation: null,
    };
    const name = `${new Bun.CryptoHasher("sha256").update(away.url).digest("hex").slice(0, 32)}.json`;
    const file = join(folderIn(home), name);
    writeFileSync(file, JSON.stringify({ ...away, accessEndsAtMs: Date.now() + 60_000 }));
    writeFileSync(`${file}.lock`, "1");
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(`${file}.lock`, longAgo, longAgo);
    expect(await run(home, "token", "--url", away.url)).toMatchObject({
      code: 0,
      stdout: `${saved.access}\n`,
    });
    expect(existsSync(`${file}.lock`)).toBe(false);
    writeFileSync(file, JSON.stringify({ ...away, accessEndsAtMs: Date.now() - 1 }));
    const failed = await run(home, "token", "--url", away.url);
    expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("sluice login") });
  }, 60_000);

  test("sends its tokens to the gateway that issued them alone", async () => {
    const home = newHome();
    await login(home);
    const saved = JSON.parse(readFileSync(fileIn(home), "utf8"));
    const seen: string[] = [];
    using thief = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        seen.push(await request.text());
        return new Response("{}");
      },
    });
    writeFileSync(fileIn(home), JSON.stringify({ ...saved, token: thief.url.href, accessEndsAtMs: 0 }));
    expect(await run(home, "token", "--url", gateway.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is damaged"),
    });
    using redirecting = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.redirect(thief.url.href, 307),
    });
    const url = redirecting.url.origin;
    const name = `${new Bun.CryptoHasher("sha256").update(url).digest("hex").slice(0, 32)}.json`;
    const file = join(folderIn(home), name);
    writeFileSync(file, JSON.stringify({ ...saved, url, token: url, revocation: url, accessEndsAtMs: 0 }));
    expect((await run(home, "token", "--url", url)).code).toBe(1);
    expect((await run(home, "logout", url)).code).toBe(1);
    expect(seen).toEqual([]);
    expect(existsSync(file)).toBe(false);
  }, 60_000);
});

test("login --sign-in works below /token for an account with a token budget", async () => {
  const other = await startWithBudget();
  try {
    const home = newHome();
    const url = `${other.url}/token`;
    expect((await loginAt(url, home)).exit).toBe(0);
    const { stdout } = await run(home, "token", "--url", url);
    const headers = { authorization: `Bearer ${stdout.trim()}` };
    expect((await fetch(`${url}/v1/models`, { headers })).status).toBe(200);
    expect((await fetch(`${other.url}/v1/models`, { headers })).status).toBe(401);
    expect((await run(home, "logout", url)).code).toBe(0);
    expect((await fetch(`${url}/v1/models`, { headers })).status).toBe(401);
  } finally {
    await other.dispose();
  }
}, 60_000);

test("login --sign-in --for codex writes the command that prints a token, and no token", async () => {
  const home = newHome();
  const { exit, stdout } = await login(home, "--for", "codex", "--model", "gpt-test");
  expect([exit, stdout]).toEqual([0, expect.stringContaining("codex now uses")]);
  const text = readFileSync(join(home, ".codex", "config.toml"), "utf8");
  expect(text).not.toMatch(/sl[ur]_/);
  expect(Bun.TOML.parse(text)).toMatchObject({
    model_provider: "sluice",
    model_providers: {
      sluice: {
        base_url: `${gateway.url}/v1`,
        auth: { args: ["token", "--url", gateway.url], timeout_ms: 30_000 },
      },
    },
  });
  expect((await run(home, "connect", "codex", "--undo")).code).toBe(0);
  expect(existsSync(join(home, ".codex", "config.toml"))).toBe(false);
}, 60_000);

describe("connect claude-code --sign-in", () => {
  test("writes two settings beside what is there, and takes them back", async () => {
    const home = newHome();
    const file = join(home, ".claude", "settings.json");
    mkdirSync(join(home, ".claude"));
    const before = '{\n  "theme": "dark",\n  "env": { "A": "1" }\n}\n';
    writeFileSync(file, before);
    const shown = await run(home, "connect", "claude-code", "--sign-in", "--url", gateway.url);
    expect(shown.stdout).toContain('"forceLoginMethod": "gateway"');
    expect(readFileSync(file, "utf8")).toBe(before);
    const written = await run(home, "connect", "claude-code", "--sign-in", "--url", gateway.url, "--write");
    expect(written).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
      theme: "dark",
      env: { A: "1" },
      forceLoginMethod: "gateway",
      forceLoginGatewayUrl: gateway.url,
    });
    expect((await run(home, "connect", "claude-code", "--sign-in", "--undo")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  test("warns of variables that are in the way, and of what Claude Code would refuse", async () => {
    const home = newHome();
    mkdirSync(join(home, ".claude"));
    writeFileSync(join(home, ".claude", "settings.json"), '{ "env": { "ANTHROPIC_AUTH_TOKEN": "x" } }');
    const connect = (url: string, ...more: string[]) =>
      run(home, "connect", "claude-code", "--sign-in", "--url", url, ...more);
    expect((await connect(gateway.url, "--write")).stderr).toContain("ANTHROPIC_AUTH_TOKEN");
    expect(await connect("http://192.168.0.1")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not https"),
    });
    expect((await connect("https://8.8.8.8")).stderr).toContain("a public address");
    expect((await connect("https://192.168.0.1")).stderr).toBe("");
    expect((await run(home, "connect", "curl", "--sign-in", "--url", gateway.url)).code).toBe(2);
  });
});
