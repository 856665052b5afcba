import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import type { SessionView } from "../../../src/admin/auth/schema.ts";
import type { KeyList } from "../../../src/admin/key-terms/schema.ts";
import { Browser } from "../../admin/oidc/browser.ts";
import { clientId, clientSecret, startIssuer } from "../../admin/oidc/issuer.ts";
import { freePort } from "../../support/free-port.ts";
import { newFolder } from "../../support/new-folder.ts";
import { program as sluiceProgram } from "../../support/process.ts";
import { proxies } from "../../support/proxies.ts";
import { type Sluice, startSluice } from "../../support/sluice.ts";

const configWith = (issuer: string, adminListen: string | null) => `
[server]
trusted_proxies = ["127.0.0.1"]
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
${adminListen === null ? "" : `listen = "${adminListen}"`}
admins = ["root@example.com"]
members = "everyone"
member_keys = { account = "crowd", cap = "5/day" }
[admin.oidc]
issuer = "${issuer}"
client_id = "${clientId}"
client_secret = "env:OIDC_SECRET"
`;

/** Behind each of the examples, with the admin side on the same listener and on one of its own, as they advise. */
const cases = Object.entries(proxies).flatMap(([name, proxy]) =>
  [false, true].map((hasOwnListener) => ({ name, proxy, hasOwnListener })),
);

describe.each(cases)("behind $name (admin.listen: $hasOwnListener)", ({ name, proxy, hasOwnListener }) => {
  if (proxy.program === null) {
    test.skipIf(true)(`SKIPPED: ${name} is not installed, so no sign-in is tried behind it`, () => {});
    return;
  }
  const { program } = proxy;
  const home = newFolder();
  const url = `http://127.0.0.1:${freePort()}`;
  let issuer: Awaited<ReturnType<typeof startIssuer>>;
  let sluice: Sluice;
  let running: { stop(): void };

  beforeAll(async () => {
    issuer = await startIssuer((own) => ({ end_session_endpoint: `${own}/logout` }));
    const listen = hasOwnListener ? `127.0.0.1:${freePort()}` : null;
    sluice = await startSluice({
      config: configWith(issuer.url, listen),
      env: { OIDC_SECRET: clientSecret },
    });
    await sluice.cliJson(..."accounts create --mode credit --label crowd --postpaid".split(" "));
    running = await proxy.start(program, sluice.url, url);
  }, 60_000);
  afterAll(async () => {
    running.stop();
    await sluice.dispose();
    issuer.stop();
    rmSync(home, { recursive: true, force: true });
  });

  async function signedIn(page: string): Promise<Browser> {
    const browser = new Browser();
    const back = await browser.open(`${url}/admin/oidc/login?return=${encodeURIComponent(page)}`);
    expect([back.status, back.headers.get("location")]).toEqual([302, page]);
    expect((await browser.fetch(url + page)).headers.get("content-type")).toContain("text/html");
    return browser;
  }
  const own = (browser: Browser, path: string, init: RequestInit = {}) =>
    browser.fetch(`${url}/usage/api/v1${path}`, { ...init, headers: { origin: url, ...init.headers } });

  test("sluice login receives a key that a person approved who signed in", async () => {
    const child = Bun.spawn([...sluiceProgram(), "login", url, "--no-browser"], {
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
    const [, page = "", code = ""] = /(\/usage\/device\/([A-Z]{4}-[A-Z]{4}))/.exec(stderr) ?? [];
    expect(stderr).toContain(`Open ${url}/usage/device/`);
    const browser = await signedIn(page);
    expect(await (await own(browser, `/device?user_code=${code}`)).json()).toMatchObject({
      state: "pending",
      is_own_address: true,
    });
    const body = JSON.stringify({ user_code: code });
    const approved = await own(browser, "/device/approve", { method: "POST", body });
    expect(approved.status, await approved.text()).toBe(200);
    const [stdout, exit] = await Promise.all([new Response(child.stdout).text(), child.exited]);
    expect(exit).toBe(0);
    const [key = ""] = /slu_\w{36}/.exec(stdout) ?? [];
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${url}/v1/usage`, { headers })).status).toBe(200);
    const { data } = (await (await own(browser, "/keys?owner=me")).json()) as KeyList;
    expect(data.map(({ owner }) => owner)).toContain("ada@example.com");
  }, 30_000);

  test("a session shows its own keys alone and changes them from this page alone, until it is signed out", async () => {
    issuer.says({ claims: (usual) => ({ ...usual, email: "root@example.com" }) });
    const admin = await signedIn("/usage");
    issuer.says({});
    const ada = await signedIn("/usage");
    const create = (headers: Record<string, string> = {}) =>
      own(ada, "/keys", { method: "POST", body: '{"owner":"me"}', headers });
    expect((await create({ origin: "https://evil.example" })).status).toBe(403);
    const made = (await (await create()).json()) as { id: string };
    expect((await own(ada, `/keys/${made.id}`)).status).toBe(200);
    expect((await own(ada, `/keys/${made.id}/rotate`, { method: "POST", body: "{}" })).status).toBe(200);
    // Whatever the role: the admin API is not reached here.
    const { data } = (await (await own(admin, "/keys")).json()) as KeyList;
    expect(data).toEqual([]);
    expect((await own(admin, `/keys/${made.id}`)).status).toBe(404);
    expect((await own(admin, `/keys/${made.id}/revoke`, { method: "POST", body: "{}" })).status).toBe(403);
    expect((await own(admin, "/accounts")).status).toBe(404);
    const session = async () => (await (await own(ada, "/session")).json()) as SessionView;
    expect(await session()).toMatchObject({ signed_in: true, name: "ada@example.com", role: "member" });
    const ended = (await (await own(ada, "/session", { method: "DELETE" })).json()) as {
      readonly sign_out_url: string;
    };
    // Back to a page that the proxy passes.
    expect(new URL(ended.sign_out_url).searchParams.get("post_logout_redirect_uri")).toBe(`${url}/usage`);
    expect((await session()).signed_in).toBe(false);
    expect((await own(ada, "/keys")).status).toBe(401);
  }, 30_000);

  test("a sign-in that fails leads back to where it began", async () => {
    issuer.says({ refuses: "access_denied" });
    const browser = new Browser();
    const failed = await browser.open(`${url}/admin/oidc/login?return=/usage/device/BCDF-GHJK`);
    issuer.says({});
    expect(failed.status).toBe(401);
    const page = await failed.text();
    expect(page).toContain('href="/admin/oidc/login?return=%2Fusage%2Fdevice%2FBCDF-GHJK"');
    expect(page).toContain('<a href="/usage">Back</a>');
  });
});
