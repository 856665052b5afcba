import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { EndedSessionView, SessionView } from "../../../src/admin/auth/schema.ts";
import { freePort } from "../../support/free-port.ts";
import { newFolder } from "../../support/new-folder.ts";
import { type Sluice, startSluice } from "../../support/sluice.ts";
import { waitFor } from "../../support/wait.ts";
import { Browser } from "./browser.ts";

/** The unpacked folder of a Keycloak, such as `keycloak-quarkus-dist` of Maven Central. It needs Java 17. */
const folder = process.env["SLUICE_TEST_KEYCLOAK"];

const secret = "a-secret-of-the-tests";
const [gatewayPort, port] = [freePort(), freePort()];
const base = `http://127.0.0.1:${port}`;
const gateway = `http://127.0.0.1:${gatewayPort}`;
const startWithinMs = 420_000;

const config = (realm: string, admins = "ada@example.com") => `
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
admins = ["${admins}"]
[admin.oidc]
issuer = "${base}/realms/${realm}"
client_id = "sluice"
client_secret = "env:OIDC_SECRET"
`;

let token = "";

async function keycloak(method: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(`${base}/admin/realms${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} gave ${response.status}: ${await response.text()}`);
  return response;
}

async function signInAsAdmin(): Promise<boolean> {
  const form = { grant_type: "password", client_id: "admin-cli", username: "admin", password: "admin" };
  const response = await fetch(`${base}/realms/master/protocol/openid-connect/token`, {
    method: "POST",
    body: new URLSearchParams(form),
  }).catch(() => null);
  if (response?.ok !== true) return false;
  token = ((await response.json()) as { readonly access_token: string }).access_token;
  return true;
}

const realm = {
  realm: "crew",
  enabled: true,
  sslRequired: "none",
  users: ["ada", "eve"].map((username) => ({
    username,
    enabled: true,
    email: `${username}@example.com`,
    emailVerified: true,
    firstName: username,
    lastName: "Example",
    credentials: [{ type: "password", value: "pw" }],
  })),
  clients: [
    {
      clientId: "sluice",
      secret,
      redirectUris: [`${gateway}/admin/oidc/callback`],
      attributes: {
        "post.logout.redirect.uris": `${gateway}/admin`,
        "backchannel.logout.url": `${gateway}/admin/oidc/backchannel-logout`,
        "backchannel.logout.session.required": "true",
      },
    },
  ],
};

async function submit(browser: Browser, page: Response, form: Record<string, string>): Promise<Response> {
  const [, action = ""] = /<form[^>]*action="([^"]+)"/.exec(await page.text()) ?? [];
  const body = new URLSearchParams(form);
  return browser.open(action.replaceAll("&amp;", "&"), { method: "POST", body });
}

async function signIn(browser: Browser, username: string): Promise<Response> {
  const form = await browser.open(`${gateway}/admin/oidc/login`);
  return submit(browser, form, { username, password: "pw" });
}

async function isSignedIn(browser: Browser): Promise<boolean> {
  const session = await browser.fetch(`${gateway}/admin/api/v1/session`);
  return ((await session.json()) as SessionView).signed_in;
}

if (folder === undefined) test.skipIf(true)("no Keycloak: set SLUICE_TEST_KEYCLOAK to its folder", () => {});
else
  describe("with Keycloak", () => {
    let server: Bun.Subprocess;
    let sluice: Sluice;
    const home = newFolder();

    beforeAll(async () => {
      const output = Bun.file(join(home, "output"));
      server = Bun.spawn(
        [
          join(folder, "bin/kc.sh"),
          "start-dev",
          "--db=dev-mem",
          "--http-host=127.0.0.1",
          `--http-port=${port}`,
        ],
        {
          env: { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: "admin", KC_BOOTSTRAP_ADMIN_PASSWORD: "admin" },
          stdout: output,
          stderr: output,
        },
      );
      await waitFor(signInAsAdmin, "Keycloak to start", startWithinMs);
      await keycloak("POST", "", realm);
      sluice = await startSluice({
        config: config("crew"),
        args: ["--port", String(gatewayPort)],
        env: { OIDC_SECRET: secret },
      });
    }, startWithinMs);
    afterAll(async () => {
      await sluice?.dispose();
      server.kill();
      await server.exited;
      rmSync(home, { recursive: true, force: true });
    });

    test("signing out here signs out there: the next sign-in asks for the password", async () => {
      const browser = new Browser();
      expect((await signIn(browser, "ada")).headers.get("location")).toBe("/admin");
      expect(await isSignedIn(browser)).toBe(true);
      const init = { method: "DELETE", headers: { origin: gateway } };
      const ended = await browser.fetch(`${gateway}/admin/api/v1/session`, init);
      const { sign_out_url: url } = (await ended.json()) as EndedSessionView;
      const back = await browser.fetch(url ?? "");
      expect([back.status, back.headers.get("location")]).toEqual([302, `${gateway}/admin`]);
      const form = await browser.open(`${gateway}/admin/oidc/login`);
      expect(await form.text()).toContain('name="password"');
    });

    test("a back-channel logout ends the session here", async () => {
      const browser = new Browser();
      await signIn(browser, "ada");
      await signInAsAdmin();
      const [user] = (await (await keycloak("GET", "/crew/users?username=ada")).json()) as { id: string }[];
      await keycloak("POST", `/crew/users/${user?.id}/logout`);
      await waitFor(async () => !(await isSignedIn(browser)), "the session to end");
    });

    test("who has no role can use another account", async () => {
      const browser = new Browser();
      const refused = await signIn(browser, "eve");
      expect(refused.status).toBe(403);
      const [, other = ""] = /href="([^"]+)">Use another account/.exec(await refused.text()) ?? [];
      await browser.fetch(new URL(other.replaceAll("&amp;", "&"), gateway));
      expect((await signIn(browser, "ada")).headers.get("location")).toBe("/admin");
      expect(await isSignedIn(browser)).toBe(true);
    });

    test("a wrong secret and a wrong realm are each told, and logged with their cause", async () => {
      await sluice.stop();
      await sluice.restart({ env: { OIDC_SECRET: "wrong" } });
      const rejected = await signIn(new Browser(), "ada");
      expect([rejected.status, await rejected.text()]).toEqual([
        503,
        expect.stringContaining("rejects this gateway's credentials"),
      ]);
      await sluice.told("sign-in failed: The identity provider rejects this gateway's credentials");
      await sluice.reload(config("crow"));
      const unknown = await fetch(`${gateway}/admin/oidc/login`);
      expect([unknown.status, await unknown.text()]).toEqual([
        503,
        expect.stringContaining("does not know `admin.oidc.issuer` (404)"),
      ]);
      const { stdout, stderr } = await sluice.cli("config", "check");
      expect(stdout + stderr).toContain("does not know `admin.oidc.issuer` (404)");
    });
  });
