import { expect, test } from "bun:test";
import { OidcSignIn } from "../../../src/admin/auth/oidc/sign-in.ts";
import type { OidcSettings } from "../../../src/config/settings.ts";
import { waitFor } from "../../support/wait.ts";

test("people who sign in while the issuer hangs wait for one question to it", async () => {
  const answered = Promise.withResolvers<void>();
  let asked = 0;
  using issuer = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async () => {
      asked += 1;
      await answered.promise;
      return new Response("away", { status: 503 });
    },
  });
  const settings = {
    issuer: `http://127.0.0.1:${issuer.port}`,
    clientId: "sluice",
    clientSecret: "secret",
    scope: "openid",
  } as OidcSettings;
  const signIn = new OidcSignIn();
  const begin = () => signIn.begin(settings, "http://localhost/admin/oidc/callback");
  const all = Promise.allSettled(Array.from({ length: 50 }, begin));
  await waitFor(() => asked > 0, "the issuer to be asked");
  answered.resolve();
  expect((await all).map(({ status }) => status)).toEqual(Array(50).fill("rejected"));
  expect(asked).toBe(1);
  // A failure is not remembered.
  await expect(begin()).rejects.toThrow("cannot be reached");
  expect(asked).toBe(2);
});
