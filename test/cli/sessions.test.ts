import { afterAll, beforeAll, expect, test } from "bun:test";
import type { AdminTokenView, IssuedAdminTokenView } from "../../src/admin/auth/schema.ts";
import type { SessionListView, SessionsEndedView } from "../../src/admin/auth/session-list.ts";
import type { AuditView } from "../../src/admin/system/schema.ts";
import { Browser } from "../admin/oidc/browser.ts";
import { clientId, clientSecret, startIssuer } from "../admin/oidc/issuer.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let sluice: Sluice;
const token = "the-token-of-this-test";

beforeAll(async () => {
  issuer = await startIssuer();
  const config = `
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
admins = ["ada@example.com", "eve@example.com"]
[admin.oidc]
issuer = "${issuer.url}"
client_id = "${clientId}"
client_secret = "env:OIDC_SECRET"
`;
  const env = { OIDC_SECRET: clientSecret, SLUICE_ADMIN_TOKEN: token };
  sluice = await startSluice({ config, env });
});
afterAll(async () => {
  await sluice.dispose();
  issuer.stop();
});

async function signedIn(user: string): Promise<Browser> {
  const browser = new Browser();
  issuer.says({ claims: (usual) => ({ ...usual, sub: user, email: `${user}@example.com` }) });
  await browser.open(`${sluice.url}/admin/oidc/login`);
  return browser;
}
const statusOf = async (browser: Browser) =>
  (await browser.fetch(`${sluice.url}/admin/api/v1/health`)).status;

test("the sessions of a running gateway are listed, and a person's end with the tokens that they made", async () => {
  const [one, other, eves] = [await signedIn("ada"), await signedIn("ada"), await signedIn("eve")];
  await fetch(`${sluice.url}/admin/api/v1/session`, {
    method: "POST",
    body: JSON.stringify({ token }),
    headers: { origin: sluice.url },
  });
  const created = await one.fetch(`${sluice.url}/admin/api/v1/admin-tokens`, {
    method: "POST",
    headers: { origin: sluice.url },
    body: JSON.stringify({ label: "forever" }),
  });
  const { token: made } = (await created.json()) as IssuedAdminTokenView;
  await sluice.cli("admin-tokens", "create", "--label", "ci");
  const madeBy = async () =>
    (await sluice.cliJson<AdminTokenView[]>("admin-tokens", "list")).map((each) => [
      each.label,
      each.created_by,
      each.revoked_at === null,
    ]);
  expect(await madeBy()).toEqual([
    ["admin", null, true],
    ["forever", "ada@example.com", true],
    ["ci", "cli", true],
  ]);
  const listed = await sluice.cliJson<SessionListView[]>("sessions", "list");
  expect(listed.map(({ name, issuer: at }) => [name, at])).toEqual([
    ["ada@example.com", issuer.url],
    ["ada@example.com", issuer.url],
    ["eve@example.com", issuer.url],
    ["token", null],
  ]);
  const unconfirmed = await sluice.cli("sessions", "end", "--person", "ada@example.com");
  expect([unconfirmed.code, await statusOf(one)]).toEqual([1, 200]);
  const end = ["sessions", "end", "--person", "Ada@Example.com", "--tokens", "--yes"];
  expect(await sluice.cliJson<SessionsEndedView>(...end)).toEqual({
    person: "Ada@Example.com",
    sessions: 2,
    tokens: ["forever"],
  });
  expect([await statusOf(one), await statusOf(other), await statusOf(eves)]).toEqual([401, 401, 200]);
  const headers = { authorization: `Bearer ${made}` };
  expect((await sluice.request("/admin/api/v1/health", { headers })).status).toBe(401);
  expect((await madeBy()).map(([label, , isValid]) => [label, isValid])).toEqual([
    ["admin", true],
    ["forever", false],
    ["ci", true],
  ]);
  const [audited] = await sluice.cliJson<AuditView[]>("audit-log", "--limit", "1");
  expect(audited).toMatchObject({
    action: "session.end",
    actor: "cli",
    target: "Ada@Example.com",
    detail: "2 ended; revoked forever",
  });
});

test("the admin API lists and ends sessions too, for admins", async () => {
  const [adas, eves] = [await signedIn("ada"), await signedIn("eve")];
  const list = await eves.fetch(`${sluice.url}/admin/api/v1/sessions`);
  expect(((await list.json()) as { data: SessionListView[] }).data.map(({ name }) => name)).toContain(
    "ada@example.com",
  );
  const ended = await eves.fetch(`${sluice.url}/admin/api/v1/sessions/end`, {
    method: "POST",
    headers: { origin: sluice.url },
    body: JSON.stringify({ person: "ada@example.com" }),
  });
  expect(await ended.json()).toEqual({ person: "ada@example.com", sessions: 1, tokens: [] });
  expect([await statusOf(adas), await statusOf(eves)]).toEqual([401, 200]);
});

test("a folder without a running gateway has no sessions", async () => {
  await sluice.stop();
  const { code, stdout, stderr } = await sluice.cli("sessions", "list");
  expect([code, stdout + stderr]).toEqual([0, expect.stringContaining("No gateway runs on")]);
});
