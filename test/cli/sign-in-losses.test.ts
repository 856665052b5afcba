import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConfigCheckView } from "../../src/admin/config/schema.ts";
import type { AlertView } from "../../src/admin/system/alert-schema.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const config = (members: string) => `
[server]
trusted_proxies = ["127.0.0.1"]
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
user_header = "x-forwarded-email"
members = ["${members}"]
member_keys = { account = "crowd" }
`;
const right = config("bob@example.com");
const wrong = config("bob@example.org");
const text =
  "1 key would be suspended, because the owners could no longer sign in (bob@example.com); `sluice config reload --yes` accepts that";

let sluice: Sluice;
let key: string;

beforeAll(async () => {
  sluice = await startSluice({ config: right });
  await sluice.cli("accounts", "create", "--mode", "credit", "--label", "crowd", "--credit", "1");
  const send = async (path: string, form: Readonly<Record<string, string>>) => {
    const body = new URLSearchParams({ client_id: "sluice-cli", ...form });
    const response = await fetch(sluice.url + path, { method: "POST", body });
    return (await response.json()) as Record<string, string>;
  };
  const begun = await send("/oauth/device_authorization", {});
  const approved = await fetch(`${sluice.url}/admin/api/v1/device/approve`, {
    method: "POST",
    body: JSON.stringify({ user_code: begun["user_code"] }),
    headers: { origin: sluice.url, "x-forwarded-email": "bob@example.com", "x-forwarded-for": "192.0.2.1" },
  });
  expect(approved.status).toBe(200);
  const issued = await send("/oauth/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: begun["device_code"] ?? "",
  });
  key = issued["access_token"] ?? "";
  await keyGives(200);
});
afterAll(() => sluice.dispose());

function keyGives(status: number): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  return waitFor(
    async () => (await sluice.request("/v1/models", { headers })).status === status,
    `the key to get ${status}`,
  );
}

test("a typo in the configuration is told with the keys that it would suspend, and suspends none", async () => {
  await sluice.reload(wrong);
  await sluice.told(`the old configuration keeps running: ${text}`);
  await keyGives(200);
  expect((await sluice.cli("config", "check")).stdout).toContain("1 key would be suspended");
  expect((await sluice.cli("config", "check", "--strict")).code).not.toBe(0);
  const { stderr } = await sluice.cli("config", "diff");
  expect(stderr).toContain(text);
  expect(await sluice.cliJson<ConfigCheckView>("config", "diff")).toMatchObject({ suspends_keys: 1 });
  const refused = await sluice.cli("config", "reload");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(text)]);
  await keyGives(200);
});

test("a reload with --yes suspends the key, and the corrected file restores it", async () => {
  writeFileSync(join(sluice.folder, "sluice.toml"), wrong);
  const done = await sluice.cli("config", "reload", "--yes");
  expect([done.code, done.stderr]).toEqual([0, expect.any(String)]);
  await keyGives(401);
  await sluice.reload(right);
  await keyGives(200);
});

test("a start with the typo suspends the key with a log line and an alert, and the next one restores it", async () => {
  await sluice.stop();
  await sluice.restart({ config: wrong });
  await sluice.told("suspended keys whose owners can no longer sign in");
  await keyGives(401);
  const alerts = await sluice.cliJson<AlertView[]>("status");
  expect(alerts.map(({ kind }) => kind)).toContain("sign_in_lost");
  await sluice.stop();
  await sluice.restart({ config: right });
  await keyGives(200);
  const later = await sluice.cliJson<AlertView[]>("status");
  expect(later.map(({ kind }) => kind)).not.toContain("sign_in_lost");
});
