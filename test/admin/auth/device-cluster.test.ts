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
member_keys = { account = "crowd" }

[providers.demo]
kind = "demo"

[[models]]
id = "m"
provider = "demo"
free = true
`;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("two gateways of one database", () => {
    test("share the codes of terminals, and end a key on both when its owner is taken off the list", async () => {
      using folder = temporaryFolder();
      await using database = await emptyDatabase();
      const file = join(folder.dir, "sluice.toml");
      writeFileSync(file, config);
      const load = (name: string) =>
        loadSettings({
          file,
          env: { SLUICE_STORE: database.url, SLUICE_LOG_LEVEL: "silent" },
          cwd: folder.dir,
          flags: { port: 0, data: join(folder.dir, name) },
        }).settings;
      const one = await startGateway({ settings: load("one") });
      const other = await startGateway({ settings: load("other") });
      try {
        await createAccount({ store: one.store, clock: systemClock }, { mode: "credit", label: "crowd" });
        const send = async (path: string, form: Readonly<Record<string, string>>) => {
          const body = new URLSearchParams({ client_id: "sluice-cli", ...form });
          const response = await fetch(one.url + path, { method: "POST", body });
          return (await response.json()) as Record<string, string>;
        };
        const begun = await send("/oauth/device_authorization", {});
        const approved = await fetch(`${other.url}/admin/api/v1/device/approve`, {
          method: "POST",
          body: JSON.stringify({ user_code: begun["user_code"] }),
          headers: {
            origin: other.url,
            "x-forwarded-email": "bob@example.com",
            "x-forwarded-for": "192.0.2.1",
          },
        });
        expect(approved.status).toBe(200);
        const { access_token: key = "" } = await send("/oauth/token", {
          grant_type: "urn:ietf:params:oauth:grant-type:device_code",
          device_code: begun["device_code"] ?? "",
        });
        const statusAt = async (url: string) =>
          (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
        for (const { url } of [one, other]) {
          await waitFor(async () => (await statusAt(url)) === 200, "the key to be known");
        }
        writeFileSync(file, config.replace('"everyone"', "[]"));
        await expect(other.reload(load("other"), { suspendsKeys: false })).rejects.toThrow("1 key would be");
        expect(await statusAt(one.url)).toBe(200);
        await other.reload(load("other"), { suspendsKeys: true });
        for (const { url } of [other, one]) {
          await waitFor(async () => (await statusAt(url)) === 401, "the key to end");
        }
      } finally {
        await Promise.all([one.stop(), other.stop()]);
      }
    }, 60_000);
  });
