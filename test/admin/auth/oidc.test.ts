import { expect, spyOn, test } from "bun:test";
import { decryptAttempt, encryptAttempt } from "../../../src/admin/auth/oidc/attempt.ts";
import { OidcSignIn } from "../../../src/admin/auth/oidc/sign-in.ts";
import type { OidcSettings } from "../../../src/config/settings.ts";
import { clientId, clientSecret, startIssuer } from "../oidc/issuer.ts";

test("a sign-in that was begun too long ago, or sealed by somebody else, is not one", () => {
  const attempt = {
    state: "state",
    nonce: "nonce",
    verifier: "verifier",
    redirectUri: "http://localhost/admin/oidc/callback",
    returnTo: "/admin",
    endsAtMs: 1_000,
  };
  const sealed = encryptAttempt(attempt, "secret");
  expect(decryptAttempt(sealed, "secret", 999)).toEqual(attempt);
  expect(decryptAttempt(sealed, "secret", 1_000)).toBeNull();
  expect(decryptAttempt(sealed, "another", 999)).toBeNull();
  expect(decryptAttempt("", "secret", 999)).toBeNull();
});

test("an issuer is discovered once an hour, and anew for other settings", async () => {
  const issuer = await startIssuer();
  const settings: OidcSettings = {
    issuer: issuer.url,
    clientId,
    clientSecret,
    scope: "openid email",
    sessionMs: 43_200_000,
    userClaim: "email",
    groupsClaim: "groups",
    trustEmail: false,
  };
  const signIn = new OidcSignIn();
  const begin = async (by: OidcSettings) => {
    const { url } = await signIn.begin(by, "http://localhost/admin/oidc/callback");
    expect(url.searchParams.get("client_id")).toBe(by.clientId);
    return issuer.discoveries;
  };
  expect(await begin(settings)).toBe(1);
  expect(await begin(settings)).toBe(1);
  expect(await begin({ ...settings, clientId: "another" })).toBe(2);
  expect(await begin(settings)).toBe(3);
  const now = performance.now();
  using later = spyOn(performance, "now");
  later.mockImplementation(() => now + 3_599_000);
  expect(await begin(settings)).toBe(3);
  later.mockImplementation(() => now + 3_660_000);
  expect(await begin(settings)).toBe(4);
  issuer.stop();
});
