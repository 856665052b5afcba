import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Sluice, startSluice } from "../../support/sluice.ts";
import { Browser } from "./browser.ts";
import { clientId, clientSecret, type Script, startIssuer } from "./issuer.ts";

const config = (url: string) => `
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
admins = ["ada@example.com"]
[admin.oidc]
issuer = "${url}"
client_id = "${clientId}"
client_secret = "env:OIDC_SECRET"
`;

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let sluice: Sluice;

beforeAll(async () => {
  issuer = await startIssuer();
  sluice = await startSluice({ config: config(issuer.url), env: { OIDC_SECRET: clientSecret } });
});
afterAll(async () => {
  await sluice.dispose();
  issuer.stop();
});

const future = () => Math.floor(Date.now() / 1000) + 3600;
const failures: readonly [string, Script, number, string, string][] = [
  [
    "a person whom the provider lets in no further",
    { refuses: "access_denied" },
    401,
    "The identity provider denied you access (access_denied). Ask its operator for access",
    "access_denied",
  ],
  [
    "another error of the provider",
    { refuses: "invalid_scope" },
    401,
    "The identity provider rejected this sign-in (invalid_scope).",
    "invalid_scope",
  ],
  [
    "a wrong client secret",
    { tokenError: { status: 401, error: "invalid_client" } },
    503,
    "The identity provider rejects this gateway's credentials (invalid_client).",
    "invalid_client",
  ],
  [
    "a wrong client secret, by a provider that sends a challenge",
    { tokenError: { status: 401, error: "invalid_client", challenge: 'Basic realm="issuer"' } },
    503,
    "The identity provider rejects this gateway's credentials (WWW-Authenticate).",
    "WWW-Authenticate",
  ],
  [
    "a client that may not use codes",
    { tokenError: { status: 400, error: "unauthorized_client" } },
    503,
    "The identity provider rejects this gateway's credentials (unauthorized_client).",
    "unauthorized_client",
  ],
  [
    "a clock that is behind the provider's",
    { claims: (usual) => ({ ...usual, nbf: future() }) },
    401,
    "The clocks of the identity provider and of this gateway differ by more than 30 seconds.",
    "nbf",
  ],
  [
    "a code that was used",
    { tokenError: { status: 400, error: "invalid_grant" } },
    401,
    "The identity provider sent an invalid response. Sign in again.",
    "invalid_grant",
  ],
];

test.each(failures)(
  "has its own sentence, and its cause in the log: %s",
  async (_, script, status, text, cause) => {
    issuer.says(script);
    const from = sluice.output.length;
    const page = await new Browser().open(`${sluice.url}/admin/oidc/login`);
    expect([page.status, await page.text()]).toEqual([status, expect.stringContaining(text)]);
    await sluice.told(`sign-in failed: ${text}`);
    const line =
      sluice.output
        .slice(from)
        .split("\n")
        .find((each) => each.includes("sign-in failed: ")) ?? "";
    expect(line).toContain(cause);
    expect(line).not.toContain(clientSecret);
  },
);

test("the same failure is one line a minute, however often it happens", async () => {
  issuer.says({ refuses: "server_error" });
  for (let times = 0; times < 5; times += 1) await new Browser().open(`${sluice.url}/admin/oidc/login`);
  await sluice.told("(server_error)");
  expect(sluice.output.match(/rejected this sign-in \(server_error\)/g)).toHaveLength(1);
});

test("a wrong realm, another issuer and a provider that is away are told apart, also by `config check`", async () => {
  const other = await startIssuer(() => ({ issuer: "https://other.example" }));
  const away = "http://127.0.0.1:1";
  for (const [url, text] of [
    [`${issuer.url}/realms/crow`, "does not know `admin.oidc.issuer` (404)"],
    [other.url, "reports a different issuer than `admin.oidc.issuer`"],
    [away, "cannot be reached"],
  ] as const) {
    await sluice.reload(config(url));
    const page = await sluice.request("/admin/oidc/login");
    expect([page.status, await page.text()]).toEqual([503, expect.stringContaining(text)]);
    await sluice.told(`sign-in failed: The identity provider ${text}`);
    const checked = await sluice.cli("config", "check");
    expect(checked.stdout + checked.stderr).toContain(text);
    const requested = `GET ${url}/.well-known/openid-configuration failed`;
    expect(checked.stdout + checked.stderr).toContain(requested);
    await sluice.told(requested);
  }
  await sluice.reload(config(issuer.url));
  const checked = await sluice.cli("config", "check");
  expect(checked.stdout + checked.stderr).not.toContain("admin.oidc.issuer");
  other.stop();
});

test("failures that a client makes up fill no log, neither by their names nor by taking turns", async () => {
  const fail = async (refuses: string) => {
    issuer.says({ refuses });
    expect((await new Browser().open(`${sluice.url}/admin/oidc/login`)).status).toBe(401);
  };
  const logout = async () => {
    const body = new URLSearchParams({ logout_token: "none" });
    const sent = await fetch(`${sluice.url}/admin/oidc/backchannel-logout`, { method: "POST", body });
    expect(sent.status).toBe(400);
  };
  await fail("turn_one");
  await logout();
  await fail("turn_one");
  await logout();
  for (let times = 0; times < 30; times += 1) await fail(`made_up_${times}`);
  await sluice.told("(turn_one)");
  expect(sluice.output.match(/this sign-in \(turn_one\)/g)).toHaveLength(1);
  expect(sluice.output.match(/a logout notice/g)).toHaveLength(1);
  expect(sluice.output.match(/this sign-in \(made_up_\d+\)/g)?.length ?? 0).toBeLessThan(20);
});
