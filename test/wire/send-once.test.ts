import { expect, test } from "bun:test";
import { OidcSignIn } from "../../src/admin/auth/oidc/sign-in.ts";
import { postToHook } from "../../src/alerts/hook.ts";
import { fetchLimit } from "../../src/base/system/fetch-limit.ts";
import type { OidcSettings } from "../../src/config/settings.ts";
import { clientId, clientSecret, startIssuer } from "../admin/oidc/issuer.ts";
import { HookServer } from "../support/hook.ts";
import { waitFor } from "../support/wait.ts";

test("alerts and sign-ins pass while every slot of fetch is taken", async () => {
  let asked = 0;
  using hanging = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => {
      asked += 1;
      return new Promise<Response>(() => {});
    },
  });
  const all = new AbortController();
  const taken = Array.from({ length: fetchLimit() }, () =>
    fetch(`http://127.0.0.1:${hanging.port}`, { signal: all.signal }).catch(() => null),
  );
  await waitFor(() => asked === fetchLimit(), "all slots of fetch to be taken");

  using hook = new HookServer();
  expect(await postToHook({ url: hook.url, secret: null }, "{}", 0)).toBeNull();
  expect(hook.posts.map(({ body }) => body)).toEqual(["{}"]);

  const issuer = await startIssuer();
  const settings = { issuer: issuer.url, clientId, clientSecret, scope: "openid" } as OidcSettings;
  const { url } = await new OidcSignIn().begin(settings, "http://localhost/admin/oidc/callback");
  expect(url.href).toStartWith(`${issuer.url}/authorize`);
  issuer.stop();

  all.abort();
  await Promise.all(taken);
});

test("a hook's address may have a name and a password", async () => {
  using hook = new HookServer();
  const url = hook.url.replace("//", "//ada%40example.com:p%C3%A4ss@");
  expect(await postToHook({ url, secret: null }, "{}", 0)).toBeNull();
  expect(hook.posts[0]?.headers.get("authorization")).toBe(
    `Basic ${Buffer.from("ada@example.com:päss").toString("base64")}`,
  );
});

test("a hook that redirects has not accepted", async () => {
  using hook = new HookServer();
  hook.answer = () => Response.redirect("http://127.0.0.1:9/", 307);
  expect(await postToHook({ url: hook.url, secret: null }, "{}", 0)).toBe("returned 307");
});
