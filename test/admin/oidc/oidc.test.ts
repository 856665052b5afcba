import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { SessionView } from "../../../src/admin/auth/schema.ts";
import type { Page } from "../../../src/admin/formats/shapes.ts";
import type { AuditView } from "../../../src/admin/system/schema.ts";
import { rawExchange } from "../../support/raw.ts";
import { type Sluice, startSluice } from "../../support/sluice.ts";
import { Browser } from "./browser.ts";
import { clientId, clientSecret, startIssuer } from "./issuer.ts";

let issuer: Awaited<ReturnType<typeof startIssuer>>;
let sluice: Sluice;
let browser: Browser;

const config = (url: string, more = "") => `
[server]
trusted_proxies = ["::ffff:127.0.0.1"]
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
admins = ["Ada@Example.com"]
viewers = ["group:readers", 'group:/ops team, eu; ÜNÏ="x"']
${more}
[admin.oidc]
issuer = "${url}"
client_id = "${clientId}"
client_secret = "env:OIDC_SECRET"
`;

beforeAll(async () => {
  issuer = await startIssuer();
  sluice = await startSluice({
    config: config(issuer.url),
    env: { OIDC_SECRET: clientSecret, SLUICE_ADMIN_TOKEN: "the-token-of-this-test" },
  });
});
afterAll(async () => {
  await sluice.dispose();
  issuer.stop();
});
beforeEach(() => {
  browser = new Browser();
  issuer.says({});
});

const login = (path = "/admin") =>
  browser.open(`${sluice.url}/admin/oidc/login?return=${encodeURIComponent(path)}`);
const session = async () =>
  (await (await browser.fetch(`${sluice.url}/admin/api/v1/session`)).json()) as SessionView;
const callbackOf = async () => {
  const away = await browser.fetch(`${sluice.url}/admin/oidc/login`);
  const back = await fetch(away.headers.get("location") ?? "", { redirect: "manual" });
  return new URL(back.headers.get("location") ?? "");
};

describe("signing in with OpenID Connect", () => {
  test("gives people the role that the configuration gives them, and the audit log their name", async () => {
    const back = await login("/admin/keys");
    expect([back.status, back.headers.get("location")]).toEqual([302, "/admin/keys"]);
    expect(back.headers.getSetCookie()[0]).toMatch(
      /^sluice_session=\w+; Path=\/admin; HttpOnly; SameSite=Strict/,
    );
    expect(await session()).toMatchObject({ signed_in: true, name: "ada@example.com", role: "admin" });
    const headers = { origin: sluice.url };
    const made = await browser.fetch(`${sluice.url}/admin/api/v1/keys`, {
      method: "POST",
      headers,
      body: JSON.stringify({ mode: "credit" }),
    });
    expect(made.status).toBe(200);
    const audit = (await (await browser.fetch(`${sluice.url}/admin/api/v1/audit`)).json()) as Page<AuditView>;
    expect(audit.data.map(({ action, actor }) => [action, actor])).toEqual([
      ["key.create", "ada@example.com"],
      ["session.begin", "ada@example.com"],
    ]);
    await browser.fetch(`${sluice.url}/admin/api/v1/session`, { method: "DELETE", headers });
    expect((await session()).signed_in).toBe(false);
  });

  test("reads groups, and asks userinfo for what the token does not say", async () => {
    issuer.says({
      claims: ({ email: _, email_verified: __, ...rest }) => ({ ...rest, groups: ["Readers"] }),
      userInfo: { email: "vera@example.com", email_verified: true },
    });
    await login();
    expect(await session()).toMatchObject({ name: "vera@example.com", role: "viewer" });
  });

  test("begins a new session every time, whatever cookie the browser brought", async () => {
    await login();
    const first = browser.cookie(new URL(sluice.url).host, "sluice_session");
    await login();
    expect(browser.cookie(new URL(sluice.url).host, "sluice_session")).not.toBe(first);
  });

  test.each([
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "/admin//evil.example",
    "/administrator",
    "javascript:alert(1)",
    "/admin\r\nx: y",
    "/v1/models",
    "/%5Cevil.example",
    "/%2F/evil.example",
    "https:evil.example",
    "/admin/\t/evil.example",
    "\n/admin",
    "/admin@evil.example",
    "/admin/../v1/models",
    "/admin/%2e%2e/v1/models",
    "/usage/..",
  ])("never leads to another site: %j", async (path) => {
    expect((await login(path)).headers.get("location")).toBe("/admin");
  });
});

test("a way back that no cookie has room for is forgotten", async () => {
  expect((await login(`/admin/${"a".repeat(5000)}`)).headers.get("location")).toBe("/admin");
});

describe("signing in", () => {
  test("in two tabs at once ends well in both, whichever comes back first", async () => {
    const [one, other] = await Promise.all([callbackOf(), callbackOf()]);
    for (const callback of [other, one]) {
      expect((await browser.fetch(callback)).headers.get("location")).toBe("/admin");
      expect((await browser.fetch(callback)).status).toBe(401);
    }
  });

  test("again and again leaves no heap of cookies behind", async () => {
    for (let times = 0; times < 9; times += 1) await browser.fetch(`${sluice.url}/admin/oidc/login`);
    expect(browser.cookieNames(new URL(sluice.url).host).length).toBeLessThan(5);
    expect((await login()).status).toBe(302);
  });

  test("behind a proxy that ends TLS gives cookies that TLS alone carries, and plain ones elsewhere", async () => {
    const begun = (headers: Record<string, string>) =>
      fetch(`${sluice.url}/admin/oidc/login`, { headers, redirect: "manual" });
    for (const proto of ["https", "HTTPS", "https, http"]) {
      const away = await begun({ "x-forwarded-proto": proto });
      expect(away.headers.get("set-cookie")).toContain("; Secure");
      expect(new URL(away.headers.get("location") ?? "").searchParams.get("redirect_uri")).toStartWith(
        "https:",
      );
    }
    expect((await begun({})).headers.get("set-cookie")).not.toContain("Secure");
  });

  test("finds the role of a group that only userinfo tells, whatever characters it has", async () => {
    for (const group of ["readers", '/Ops Team, EU; ünï="x"']) {
      issuer.says({
        claims: (usual) => ({ ...usual, email: "vera@example.com" }),
        userInfo: { groups: [group, 7, null, { name: "Ada@Example.com" }] },
      });
      await login();
      expect(await session()).toMatchObject({ name: "vera@example.com", role: "viewer" });
    }
  });
});

describe("nobody is signed in by", () => {
  const refused = async (response: Response, status = 401) => {
    expect(response.status).toBe(status);
    expect(await response.text()).toContain("Not signed in");
    expect((await session()).signed_in).toBe(false);
  };

  test("a callback that this browser did not begin", async () => {
    const callback = await callbackOf();
    browser = new Browser();
    await refused(await browser.fetch(callback));
  });

  test("another state, or the same one twice", async () => {
    const callback = await callbackOf();
    const forged = new URL(callback);
    forged.searchParams.set("state", "forged");
    await refused(await browser.fetch(forged));
    const { host } = new URL(sluice.url);
    const [name = ""] = browser.cookieNames(host);
    const cookie = `${name}=${browser.cookie(host, name)}`;
    expect((await browser.fetch(callback)).status).toBe(302);
    browser = new Browser();
    const replayed = await browser.fetch(callback, { headers: { cookie } });
    await refused(replayed);
  });

  test("the state and the code of another browser", async () => {
    const theirs = await callbackOf();
    browser = new Browser();
    const callback = await callbackOf();
    await refused(await browser.fetch(theirs));
    callback.searchParams.set("code", theirs.searchParams.get("code") ?? "");
    await refused(await browser.fetch(callback));
  });

  test("a code that was never given out", async () => {
    const callback = await callbackOf();
    callback.searchParams.set("code", "guessed");
    await refused(await browser.fetch(callback));
  });

  test.each([
    ["an address that is not verified", { claims: (usual: object) => ({ ...usual, email_verified: false }) }],
    [
      "an address of which it is not known",
      { claims: (usual: object) => ({ ...usual, email_verified: undefined }) },
    ],
    [
      "an address of which only another address's verification is told",
      {
        claims: (usual: object) => ({ ...usual, email_verified: undefined }),
        userInfo: { email: "eve@example.com", email_verified: true },
      },
    ],
    [
      "an unverified address of userinfo, whatever the token verifies",
      {
        claims: (usual: object) => ({ ...usual, email: undefined }),
        userInfo: { email: "ada@example.com", email_verified: false },
      },
    ],
    [
      "an address of userinfo that only the token, without an address, calls verified",
      {
        claims: (usual: object) => ({ ...usual, email: undefined }),
        userInfo: { email: "ada@example.com" },
      },
    ],
    [
      "an address that differs by what cannot be seen",
      { claims: (usual: object) => ({ ...usual, email: "\u00a0ada@example.com" }) },
    ],
    [
      "an address with a control character",
      { claims: (usual: object) => ({ ...usual, email: "ada@example.com\u001b[2J" }) },
    ],
    ["a token with another nonce", { claims: (usual: object) => ({ ...usual, nonce: "other" }) }],
    ["another issuer's token", { claims: (usual: object) => ({ ...usual, iss: "https://other.example" }) }],
    ["a token for another client", { claims: (usual: object) => ({ ...usual, aud: "another" }) }],
    ["an expired token", { claims: (usual: object) => ({ ...usual, iat: 1000, exp: 2000 }) }],
    ["a token that nobody signed", { signedBy: "nobody" as const }],
    ["a token that somebody else signed", { signedBy: "stranger" as const }],
  ])("%s", async (_, script) => {
    issuer.says(script);
    await refused(await login());
  });

  test("an address that another one would become in small letters", async () => {
    const kelvin = "\u212a";
    await sluice.reload(config(issuer.url).replace("Ada@Example.com", "kay@example.com"));
    issuer.says({ claims: (usual) => ({ ...usual, email: `${kelvin}ay@example.com` }) });
    await refused(await login(), 403);
    issuer.says({ claims: (usual) => ({ ...usual, email: "KAY@Example.com" }) });
    expect((await login()).status).toBe(302);
    await sluice.reload(config(issuer.url));
  });

  test("an identity that no list has, whatever userinfo says: they are told who they are", async () => {
    const userInfo = { email: "ada@example.com", email_verified: true };
    issuer.says({ claims: (usual) => ({ ...usual, email: "eve@example.com" }), userInfo });
    const response = await login();
    expect(response.status).toBe(403);
    expect(await response.text()).toContain("eve@example.com");
  });
});

test("a Host that makes no valid address is no error of the gateway", async () => {
  for (const host of ["Host: %", "Host: [", "Host:", "Host: abcd:b:c", "Host: a:99999"]) {
    const statusOf = async (path: string) =>
      (await rawExchange(sluice.url, `GET ${path} HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`)).slice(
        9,
        12,
      );
    expect(await statusOf("/admin/oidc/login?return=/admin")).toBe("302");
    expect(await statusOf("/admin/oidc/callback?code=x&state=y")).toBe("401");
    expect(await statusOf("/admin/api/v1/nothing")).toBe("404");
  }
});

test("who is taken off the list while signed in is out with the reload", async () => {
  await login();
  const health = () => browser.fetch(`${sluice.url}/admin/api/v1/health`);
  expect((await health()).status).toBe(200);
  await sluice.reload(config(issuer.url).replace("Ada@Example.com", "grace@example.com"));
  expect((await health()).status).toBe(403);
  await sluice.reload(config(issuer.url));
  expect((await health()).status).toBe(200);
});

test("who was signed in by a provider that is no longer asked is out with the reload", async () => {
  await login();
  const health = async () => (await browser.fetch(`${sluice.url}/admin/api/v1/health`)).status;
  expect(await health()).toBe(200);
  const [without = ""] = config(issuer.url).split("[admin.oidc]");
  for (const changed of [without, config("http://127.0.0.1:1")]) {
    await sluice.reload(changed);
    expect(await health()).toBe(401);
  }
  await sluice.reload(config(issuer.url));
  expect(await health()).toBe(200);
});

test("while the identity provider is away the gateway starts, is ready, and the token works", async () => {
  await using alone = await startSluice({
    config: config("http://127.0.0.1:1"),
    env: { OIDC_SECRET: clientSecret, SLUICE_ADMIN_TOKEN: "the-token-of-this-test" },
  });
  expect((await alone.request("/readyz")).status).toBe(200);
  const away = await alone.request("/admin/oidc/login");
  expect([away.status, await away.text()]).toEqual([503, expect.stringContaining("sign in with a token")]);
  const headers = { authorization: "Bearer the-token-of-this-test" };
  expect((await alone.request("/admin/api/v1/health", { headers })).status).toBe(200);
});

test("an issuer on another machine must be reached by TLS", async () => {
  const { code, stderr } = await sluice.cli(
    "config",
    "check",
    "--config",
    await written("http://idp.example.com"),
  );
  expect(code).not.toBe(0);
  expect(stderr).toContain("admin.oidc.issuer");
});

async function written(url: string): Promise<string> {
  const file = `${sluice.folder}/other.toml`;
  await Bun.write(file, config(url));
  return file;
}
