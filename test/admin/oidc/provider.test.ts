import { expect, test } from "bun:test";
import { createServer } from "node:http";
import Provider from "oidc-provider";
import type { SessionView } from "../../../src/admin/auth/schema.ts";
import { freePort } from "../../support/free-port.ts";
import { startSluice } from "../../support/sluice.ts";
import { Browser } from "./browser.ts";
import { clientId, clientSecret } from "./issuer.ts";

test("people sign in at a real identity provider, with its own forms", async () => {
  const [gatewayPort, issuerPort] = [freePort(), freePort()];
  const issuer = `http://127.0.0.1:${issuerPort}`;
  const gateway = `http://127.0.0.1:${gatewayPort}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${gateway}/admin/oidc/callback`],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: ["platform"] }),
    }),
    cookies: { keys: ["a key of the tests"] },
  });
  const server = createServer(provider.callback());
  await new Promise<void>((listening) => server.listen(issuerPort, "127.0.0.1", listening));
  const config = `
[providers.demo]
kind = "demo"
[[models]]
id = "demo-small"
provider = "demo"
free = true
[admin]
admins = ["group:platform"]
[admin.oidc]
issuer = "${issuer}"
client_id = "${clientId}"
client_secret = "env:OIDC_SECRET"
`;
  await using sluice = await startSluice({
    config,
    args: ["--port", String(gatewayPort)],
    env: { OIDC_SECRET: clientSecret },
  });
  const browser = new Browser();
  let page = await browser.open(`${sluice.url}/admin/oidc/login?return=/usage`);
  for (const form of [{ prompt: "login", login: "ada", password: "x" }, { prompt: "consent" }]) {
    const [, action = ""] = /<form[^>]*action="([^"]+)"/.exec(await page.text()) ?? [];
    page = await browser.open(action, { method: "POST", body: new URLSearchParams(form) });
  }
  expect([page.status, page.headers.get("location")]).toEqual([302, "/usage"]);
  const session = await browser.fetch(`${sluice.url}/admin/api/v1/session`);
  expect((await session.json()) as SessionView).toMatchObject({ name: "ada@example.com", role: "admin" });
  server.close();
  server.closeAllConnections();
});
