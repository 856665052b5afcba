import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { SignJWT } from "jose";
import type { EndedSessionView, SessionView } from "../../../src/admin/auth/schema.ts";
import { type Sluice, startSluice } from "../../support/sluice.ts";
import { Browser } from "./browser.ts";
import { clientId, clientSecret, startIssuer } from "./issuer.ts";

const config = (url: string, more = "") => `
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
admins = ["ada@example.com", "eve@example.com"]
[admin.oidc]
issuer = "${url}"
client_id = "${clientId}"
client_secret = "env:OIDC_SECRET"
${more}
`;

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let sluice: Sluice;

beforeAll(async () => {
  issuer = await startIssuer((url) => ({ end_session_endpoint: `${url}/logout?realm=crew` }));
  sluice = await startSluice({ config: config(issuer.url), env: { OIDC_SECRET: clientSecret } });
});
afterAll(async () => {
  await sluice.dispose();
  issuer.stop();
});
beforeEach(() => issuer.says({}));

async function signedIn(claims: Record<string, string | undefined> = {}): Promise<Browser> {
  const browser = new Browser();
  issuer.says({ claims: (usual) => ({ ...usual, ...claims }) });
  expect((await browser.open(`${sluice.url}/admin/oidc/login`)).headers.get("location")).toBe("/admin");
  return browser;
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  const session = await browser.fetch(`${sluice.url}/admin/api/v1/session`);
  return ((await session.json()) as SessionView).signed_in;
}

async function signOut(browser: Browser): Promise<string | null> {
  const init = { method: "DELETE", headers: { origin: sluice.url } };
  const response = await browser.fetch(`${sluice.url}/admin/api/v1/session`, init);
  expect(response.status).toBe(200);
  return ((await response.json()) as EndedSessionView).sign_out_url;
}

async function notify(body: Record<string, string>) {
  const response = await fetch(`${sluice.url}/admin/oidc/backchannel-logout`, {
    method: "POST",
    body: new URLSearchParams(body),
  });
  expect(response.headers.get("cache-control")).toBe("no-store");
  return { status: response.status, text: await response.text() };
}

describe("signing out", () => {
  test("ends the session here and says where it ends at the identity provider", async () => {
    const browser = await signedIn();
    const url = new URL((await signOut(browser)) ?? "");
    expect(await isSignedIn(browser)).toBe(false);
    expect(url.origin + url.pathname).toBe(`${issuer.url}/logout`);
    const { id_token_hint: hint = "", ...others } = Object.fromEntries(url.searchParams);
    expect(others).toEqual({
      realm: "crew",
      client_id: clientId,
      post_logout_redirect_uri: `${sluice.url}/admin`,
    });
    expect(JSON.parse(Buffer.from(hint.split(".")[1] ?? "", "base64url").toString())).toMatchObject({
      sub: "ada",
    });
    expect(await signOut(browser)).toBeNull();
  });

  test("leaves out a token that is too long for an address", async () => {
    const url = new URL((await signOut(await signedIn({ note: "x".repeat(5_000) }))) ?? "");
    expect(url.searchParams.has("id_token_hint")).toBe(false);
    expect(url.searchParams.get("client_id")).toBe(clientId);
  });

  test("of who has no role here is possible too: they can use another account", async () => {
    issuer.says({ claims: (usual) => ({ ...usual, email: "bob@example.com" }) });
    const refused = await new Browser().open(`${sluice.url}/admin/oidc/login`);
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain(
      '<a href="/admin/oidc/login?return=%2Fadmin&amp;prompt=select_account">Use another account</a>',
    );
    const away = await fetch(`${sluice.url}/admin/oidc/login?prompt=select_account`, { redirect: "manual" });
    const { searchParams } = new URL(away.headers.get("location") ?? "");
    expect(searchParams.get("prompt")).toBe("select_account");
    const other = await fetch(`${sluice.url}/admin/oidc/login?prompt=none`, { redirect: "manual" });
    expect(new URL(other.headers.get("location") ?? "").searchParams.has("prompt")).toBe(false);
  });

  test("comes first at a provider that offers no choice of accounts", async () => {
    const keycloak = await startIssuer((url) => ({
      end_session_endpoint: `${url}/logout`,
      prompt_values_supported: ["none", "login", "consent"],
    }));
    await using alone = await startSluice({
      config: config(keycloak.url),
      env: { OIDC_SECRET: clientSecret },
    });
    keycloak.says({ claims: (usual) => ({ ...usual, email: "bob@example.com" }) });
    const refused = await new Browser().open(`${alone.url}/admin/oidc/login`);
    expect(await refused.text()).toContain(
      `<a href="${keycloak.url}/logout?client_id=${clientId}&amp;id_token_hint=`,
    );
    keycloak.stop();
  });

  test("has no page at a provider without one, or with one that is no web page", async () => {
    for (const metadata of [{}, { end_session_endpoint: "javascript:alert(1)" }]) {
      const plain = await startIssuer(() => metadata);
      await using alone = await startSluice({
        config: config(plain.url),
        env: { OIDC_SECRET: clientSecret },
      });
      const browser = new Browser();
      await browser.open(`${alone.url}/admin/oidc/login`);
      const init = { method: "DELETE", headers: { origin: alone.url } };
      const ended = await browser.fetch(`${alone.url}/admin/api/v1/session`, init);
      expect(await ended.json()).toEqual({ sign_out_url: null });
      plain.stop();
    }
  });
});

describe("a logout token of the identity provider", () => {
  test("with a session's id ends that one, and with the person alone all of theirs", async () => {
    const [one, other, another, eves] = [
      await signedIn({ sid: "one" }),
      await signedIn({ sid: "other" }),
      await signedIn({ sid: "another" }),
      await signedIn({ sid: "eves", sub: "eve", email: "eve@example.com" }),
    ];
    const states = () => Promise.all([one, other, another, eves].map(isSignedIn));
    expect(
      await notify({ logout_token: await issuer.logoutToken({ sid: "one", sub: "ada" }) }),
    ).toMatchObject({ status: 200 });
    expect(await states()).toEqual([false, true, true, true]);
    expect(await notify({ logout_token: await issuer.logoutToken({ sid: "unknown" }) })).toMatchObject({
      status: 200,
    });
    expect(await states()).toEqual([false, true, true, true]);
    expect(await notify({ logout_token: await issuer.logoutToken({ sub: "ada" }) })).toMatchObject({
      status: 200,
    });
    expect(await states()).toEqual([false, false, false, true]);
    const audit = await eves.fetch(`${sluice.url}/admin/api/v1/audit?limit=1`);
    expect(await audit.json()).toMatchObject({
      data: [{ action: "session.end", target: "ada@example.com", detail: "2 by the identity provider" }],
    });
  });

  test("ends sessions once: a replay is refused", async () => {
    const token = await issuer.logoutToken({ sub: "ada" });
    expect((await notify({ logout_token: token })).status).toBe(200);
    const browser = await signedIn();
    expect(await notify({ logout_token: token })).toEqual({
      status: 400,
      text: expect.stringContaining("used already"),
    });
    expect(await isSignedIn(browser)).toBe(true);
  });

  const seconds = () => Math.floor(Date.now() / 1000);
  const wrong: readonly [string, () => Promise<string>][] = [
    ["another signer's", () => issuer.logoutToken({ sub: "ada" }, "stranger")],
    ["another issuer's", () => issuer.logoutToken({ sub: "ada", iss: "https://other.example" })],
    ["another client's", () => issuer.logoutToken({ sub: "ada", aud: "another" })],
    ["an old one", () => issuer.logoutToken({ sub: "ada", iat: seconds() - 1000, exp: seconds() + 60 })],
    ["an expired one", () => issuer.logoutToken({ sub: "ada", iat: seconds() - 200, exp: seconds() - 100 })],
    ["one without an id", () => issuer.logoutToken({ sub: "ada", jti: undefined })],
    [
      "one without its event, such as an ID token",
      () => issuer.logoutToken({ sub: "ada", events: undefined }),
    ],
    ["one with another event", () => issuer.logoutToken({ sub: "ada", events: { other: {} } })],
    ["one with a nonce", () => issuer.logoutToken({ sub: "ada", nonce: "x" })],
    ["one of nobody", () => issuer.logoutToken({})],
    [
      "one signed with the client secret",
      () =>
        new SignJWT({
          sub: "ada",
          jti: "x",
          events: { "http://schemas.openid.net/event/backchannel-logout": {} },
        })
          .setProtectedHeader({ alg: "HS256", kid: "one" })
          .setIssuer(issuer.url)
          .setAudience(clientId)
          .setIssuedAt()
          .sign(new TextEncoder().encode(clientSecret)),
    ],
    ["no token", async () => "nonsense"],
  ];
  test.each(wrong)("is refused and ends nothing: %s", async (_, make) => {
    const browser = await signedIn();
    const { status, text } = await notify({ logout_token: await make() });
    expect([status, text]).toEqual([400, expect.stringContaining('"error":"invalid_request"')]);
    expect(await isSignedIn(browser)).toBe(true);
  });

  test("must be there once, in a short form", async () => {
    expect((await notify({})).status).toBe(400);
    const twice = await fetch(`${sluice.url}/admin/oidc/backchannel-logout`, {
      method: "POST",
      body: "logout_token=a&logout_token=b",
    });
    expect(twice.status).toBe(400);
    expect((await notify({ logout_token: "x".repeat(20_000) })).status).toBe(413);
  });
});

test("a session lasts as long as the configuration says", async () => {
  await using short = await startSluice({
    config: config(issuer.url, 'session = "1s"'),
    env: { OIDC_SECRET: clientSecret },
  });
  const browser = new Browser();
  const back = await browser.open(`${short.url}/admin/oidc/login`);
  expect(back.headers.getSetCookie()[0]).toContain("Max-Age=1");
  const health = async () => (await browser.fetch(`${short.url}/admin/api/v1/health`)).status;
  expect(await health()).toBe(200);
  await Bun.sleep(1_100);
  expect(await health()).toBe(401);
});
