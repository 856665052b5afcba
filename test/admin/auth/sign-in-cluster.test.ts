import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAccount } from "../../../src/admin/accounts/accounts.ts";
import { startGateway } from "../../../src/app/start.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { loadSettings } from "../../../src/config/load.ts";
import { temporaryFolder } from "../../store/fixtures.ts";
import { emptyDatabase } from "../../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait.ts";

const config = `
[server]
trusted_proxies = ["127.0.0.1"]

[admin]
members = "everyone"
user_header = "x-forwarded-email"
member_keys = { account = "crowd", cap = "5/day" }

[providers.demo]
kind = "demo"

[[models]]
id = "m"
provider = "demo"
free = true
`;

type Tokens = Readonly<Record<"access_token" | "refresh_token", string>>;

/** Two gateways on one database, as two nodes behind one name. */
async function startTwo(dir: string, store: string) {
  const file = join(dir, "sluice.toml");
  writeFileSync(file, config);
  const load = (name: string) =>
    loadSettings({
      file,
      env: { SLUICE_STORE: store, SLUICE_LOG_LEVEL: "silent" },
      cwd: dir,
      flags: { port: 0, data: join(dir, name) },
    }).settings;
  const one = await startGateway({ settings: load("one") });
  const other = await startGateway({ settings: load("other") });
  await createAccount({ store: one.store, clock: systemClock }, { mode: "credit", label: "crowd" });
  return { one, other, load, file };
}

async function send(url: string, path: string, form: Readonly<Record<string, string>>) {
  const response = await fetch(url + path, { method: "POST", body: new URLSearchParams(form) });
  return (await response.json()) as Record<string, string>;
}

async function signIn(begunAt: string, approvedAt: string, polledAt: string, user: string): Promise<Tokens> {
  const begun = await send(begunAt, "/oauth/device_authorization", { surface: "claude_code" });
  const approved = await fetch(`${approvedAt}/usage/api/v1/device/approve`, {
    method: "POST",
    body: JSON.stringify({ user_code: begun["user_code"] }),
    headers: { origin: approvedAt, "x-forwarded-email": user, "x-forwarded-for": "192.0.2.1" },
  });
  if (!approved.ok) throw new Error(await approved.text());
  const tokens = await send(polledAt, "/oauth/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: begun["device_code"] ?? "",
  });
  return { access_token: tokens["access_token"] ?? "", refresh_token: tokens["refresh_token"] ?? "" };
}

const refresh = (url: string, token: string) =>
  send(url, "/oauth/token", { grant_type: "refresh_token", refresh_token: token });

async function statusAt(url: string, token: string): Promise<number> {
  return (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status;
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("two gateways of one database", () => {
    test("share sign-ins: their tokens, refreshes at the same time, and their end within a second", async () => {
      using folder = temporaryFolder();
      await using database = await emptyDatabase();
      const { one, other, load, file } = await startTwo(folder.dir, database.url);
      try {
        const first = await signIn(one.url, other.url, one.url, "bob@example.com");
        // At once: a token that a gateway does not know yet is looked for.
        expect(await statusAt(other.url, first.access_token)).toBe(200);
        const racing = await Promise.all(
          [one, other, one, other, one, other].map(({ url }) => refresh(url, first.refresh_token)),
        );
        expect(
          new Set(racing.map(({ access_token, refresh_token }) => `${access_token} ${refresh_token}`)).size,
        ).toBe(1);
        const [{ access_token: access = "", refresh_token: second = "" } = {}] = racing;
        expect([await statusAt(one.url, access), await statusAt(other.url, access)]).toEqual([200, 200]);
        const again = await signIn(other.url, one.url, other.url, "bob@example.com");
        const keyAt = (token: string) => one.gateway.keys.find(token)?.id;
        await waitFor(() => keyAt(again.access_token) !== undefined, "the other token to be known");
        expect(keyAt(again.access_token)).toBe(keyAt(access) ?? "none");
        const endedWithin = async (token: string, url: string) => {
          const begunMs = performance.now();
          await waitFor(async () => (await statusAt(url, token)) === 401, "the token to end");
          return performance.now() - begunMs;
        };
        await send(one.url, "/oauth/revoke", { token: second });
        expect(await statusAt(one.url, access)).toBe(401);
        expect(await endedWithin(access, other.url)).toBeLessThan(1000);
        expect(await refresh(other.url, second)).toMatchObject({ error: "invalid_grant" });
        expect(await statusAt(other.url, again.access_token)).toBe(200);
        writeFileSync(file, config.replace('"everyone"', "[]"));
        await other.reload(load("other"), { suspendsKeys: true });
        expect(await statusAt(other.url, again.access_token)).toBe(401);
        expect(await endedWithin(again.access_token, one.url)).toBeLessThan(1000);
      } finally {
        await Promise.all([one.stop(), other.stop()]);
      }
    }, 60_000);

    test("create one key for a person whose first two sign-ins come at once, one at each", async () => {
      using folder = temporaryFolder();
      await using database = await emptyDatabase();
      const { one, other } = await startTwo(folder.dir, database.url);
      try {
        const tokens = await Promise.all(
          [one, other, one, other].map(({ url }) => signIn(url, url, url, "eva@example.com")),
        );
        for (const { access_token: token } of tokens)
          await waitFor(() => one.gateway.keys.find(token) !== null, "the token to be known");
        const ids = new Set(tokens.map(({ access_token: token }) => one.gateway.keys.find(token)?.id));
        expect(ids.size).toBe(1);
        const keys = [...one.gateway.keys.all()].filter(({ owner }) => owner === "eva@example.com");
        expect(keys).toHaveLength(1);
      } finally {
        await Promise.all([one.stop(), other.stop()]);
      }
    }, 60_000);
  });
