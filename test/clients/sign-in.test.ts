import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SignInView } from "../../src/admin/auth/sign-ins/schema.ts";
import { program } from "../support/process.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { runAgent, Workshop } from "./agents/run.ts";
import { largeClients, runsLargeClients } from "./installed.ts";

const claude = runsLargeClients ? await largeClients.claudeCode() : null;
const codex = runsLargeClients ? await largeClients.codex() : null;
if (!runsLargeClients)
  console.log("Sign-ins of Claude Code and Codex are tried against the executable only.");

const config = `
[server]
trusted_proxies = ["127.0.0.1"]

[admin]
members = "everyone"
user_header = "x-forwarded-email"
member_keys = { account = "team", cap = "5/day" }

[[admin.managed_settings]]
claude_code = { model = "claude-house" }

[providers.demo]
kind = "demo"

[[models]]
id = "claude-house"
provider = "demo"
price = { input = 1.0, output = 2.0 }
context_window = 200000
max_output_tokens = 32000

[[models]]
id = "gpt-house"
provider = "demo"
price = { input = 1.0, output = 2.0 }
context_window = 200000
max_output_tokens = 32000
`;

const timeoutMs = 120_000;
let sluice: Sluice;

async function approve(code: string): Promise<void> {
  const response = await fetch(`${sluice.url}/usage/api/v1/device/approve`, {
    method: "POST",
    body: JSON.stringify({ user_code: code }),
    headers: { origin: sluice.url, "x-forwarded-email": "bob@example.com", "x-forwarded-for": "192.0.2.1" },
  });
  if (!response.ok) throw new Error(await response.text());
}

async function oauth(path: string, form: Readonly<Record<string, string>>) {
  const response = await fetch(`${sluice.url}/oauth/${path}`, {
    method: "POST",
    body: new URLSearchParams(form),
  });
  return (await response.json()) as Record<string, string>;
}

const latest = async () => (await sluice.cliJson<readonly SignInView[]>("sign-ins", "list"))[0];

/** What Claude Code stores when it has signed in. */
interface Stored {
  readonly jwt: string;
  readonly idpRefreshToken: string;
}

/** A machine on which Claude Code has signed in: it only does so on a terminal, so its file is written here. */
class SignedInClaude {
  readonly workshop = new Workshop({});
  readonly #file = join(this.workshop.home, ".claude", ".credentials.json");

  async signIn(): Promise<void> {
    const begun = await oauth("device_authorization", { surface: "claude_code" });
    await approve(begun["user_code"] ?? "");
    const tokens = await oauth("token", {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: begun["device_code"] ?? "",
    });
    mkdirSync(join(this.workshop.home, ".claude"), { recursive: true });
    const settings = { forceLoginMethod: "gateway", forceLoginGatewayUrl: sluice.url };
    writeFileSync(join(this.workshop.home, ".claude", "settings.json"), JSON.stringify(settings));
    this.#write(
      { jwt: tokens["access_token"] ?? "", idpRefreshToken: tokens["refresh_token"] ?? "" },
      3_600_000,
    );
  }

  get stored(): Stored {
    return JSON.parse(readFileSync(this.#file, "utf8")).enterpriseGateway;
  }

  /** As after most of an hour. */
  passTime(): void {
    this.#write(this.stored, 60_000);
  }

  #write({ jwt, idpRefreshToken }: Stored, expiresInMs: number): void {
    const gateway = {
      ...{ url: sluice.url, jwt, idpRefreshToken, expiresAt: Date.now() + expiresInMs },
      ...{ tokenEndpoint: `${sluice.url}/oauth/token`, revocationEndpoint: `${sluice.url}/oauth/revoke` },
    };
    const trust = { [new URL(sluice.url).hostname]: "http-loopback" };
    writeFileSync(this.#file, JSON.stringify({ gatewayTrust: trust, enterpriseGateway: gateway }), {
      mode: 0o600,
    });
  }

  async say(text: string): Promise<{ readonly code: number; readonly told: string }> {
    const env = { DISABLE_AUTOUPDATER: "1", IS_SANDBOX: "1" };
    const { code, stdout, stderr } = await runAgent([claude ?? "", "-p", text], this.workshop, env);
    return { code, told: stdout + stderr };
  }

  [Symbol.dispose](): void {
    this.workshop[Symbol.dispose]();
  }
}

const suite = runsLargeClients ? describe : () => {};

suite("signed in by", () => {
  beforeAll(async () => {
    sluice = await startSluice({ config });
    await sluice.cli("accounts", "create", "--mode", "credit", "--label", "team", "--credit", "100");
  }, timeoutMs);
  afterAll(() => sluice.dispose());

  describe.skipIf(claude === null)("the real Claude Code", () => {
    test(
      "works with managed settings, refreshes through an hour after another, and ends when it is revoked",
      async () => {
        using machine = new SignedInClaude();
        await machine.signIn();
        const first = machine.stored;
        expect(await machine.say("hello")).toMatchObject({
          code: 0,
          told: expect.stringContaining("You said"),
        });
        expect(machine.stored).toEqual(first);
        for (let hour = 0; hour < 3; hour += 1) {
          const { jwt, idpRefreshToken } = machine.stored;
          machine.passTime();
          expect((await machine.say(`hour ${hour}`)).code).toBe(0);
          expect(machine.stored.jwt).not.toBe(jwt);
          expect(machine.stored.idpRefreshToken).not.toBe(idpRefreshToken);
        }
        machine.passTime();
        const both = await Promise.all([machine.say("one"), machine.say("two")]);
        expect(both.map(({ code }) => code)).toEqual([0, 0]);
        expect((await machine.say("three")).code).toBe(0);
        const requests = await sluice.cliJson<readonly { readonly model: string }[]>("requests", "list");
        expect(new Set(requests.map(({ model }) => model))).toEqual(new Set(["claude-house"]));
        expect(await sluice.cli("sign-ins", "revoke", (await latest())?.id ?? "", "--yes")).toMatchObject({
          code: 0,
        });
        const { code, told } = await machine.say("four");
        expect(code).toBe(1);
        expect(told).toMatch(/no longer accepts|login/);
        expect(told).not.toMatch(/sl[ur]_\w{20}/);
      },
      4 * timeoutMs,
    );
  });

  describe.skipIf(codex === null)("the real Codex", () => {
    test(
      "gets its token from the command that login wrote, refreshed when it is due, until it is revoked",
      async () => {
        using workshop = new Workshop({});
        const child = Bun.spawn(
          [
            ...program(),
            "login",
            sluice.url,
            "--sign-in",
            "--for",
            "codex",
            "--model",
            "gpt-house",
            "--no-browser",
          ],
          {
            env: { HOME: workshop.home, PATH: process.env["PATH"] ?? "" },
            stdin: "ignore",
            stdout: "ignore",
            stderr: "pipe",
          },
        );
        let said = "";
        for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
          said += piece;
          const code = /code ([A-Z]{4}-[A-Z]{4})\./.exec(said)?.[1];
          if (code === undefined) continue;
          await approve(code);
          break;
        }
        expect(await child.exited).toBe(0);
        expect(await latest()).toMatchObject({ client: "Codex", person: "bob@example.com" });
        const run = () => runAgent([codex ?? "", "exec", "--skip-git-repo-check", "say hi"], workshop, {});
        expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining("You said") });
        const folder = join(workshop.home, ".config", "sluice", "sign-ins");
        const [file = ""] = [...new Bun.Glob("*.json").scanSync(folder)];
        const saved = JSON.parse(readFileSync(join(folder, file), "utf8"));
        writeFileSync(join(folder, file), JSON.stringify({ ...saved, accessEndsAtMs: Date.now() + 60_000 }));
        expect((await run()).code).toBe(0);
        expect(JSON.parse(readFileSync(join(folder, file), "utf8")).access).not.toBe(saved.access);
        await sluice.cli("sign-ins", "revoke", (await latest())?.id ?? "", "--yes");
        expect((await run()).code).not.toBe(0);
      },
      4 * timeoutMs,
    );
  });
});
