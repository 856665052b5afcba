import type { Elysia } from "elysia";
import type { OidcSettings } from "../../../config/settings.ts";
import { urlOf } from "../../../gateway/exchange/client-call.ts";
import { sessionCookies } from "../../access/guard.ts";
import { refreshSignIn } from "../../access/lost-sign-ins.ts";
import { originInBrowser } from "../../access/origin.ts";
import { rolesOf } from "../../access/person.ts";
import type { AdminDeps } from "../../deps.ts";
import { answerHeaders } from "../../formats/admin-error.ts";
import { recordSignIn, withCookies } from "../session-routes.ts";
import { attemptMinutes, decryptAttempt, encryptAttempt } from "./attempt.ts";
import { errorPage, home, homeOf } from "./error-page.ts";
import { reportFailure, SignInRejected } from "./failures.ts";
import { OidcSignIn, type SignedIn } from "./sign-in.ts";

const base = "/admin/oidc";
const cookiePrefix = "sluice_oidc_";
const attemptName = /^sluice_oidc_[\w-]{16}$/;
/** How many tabs can sign in at once. Beyond that, the oldest attempts are dropped. */
const maxAttempts = 4;

/** Sends people to the identity provider, and takes them back. */
export function mountOidc(app: Elysia, deps: AdminDeps): void {
  const signIn = new OidcSignIn();
  const guarded = (work: (request: Request, oidc: OidcSettings) => Promise<Response>) => {
    return async ({ request }: { readonly request: Request }) => {
      const { oidc } = deps.settings().admin;
      if (oidc === null) {
        const message = "Signing in with OpenID Connect is not configured here.";
        return errorPage(404, message, { retryUrl: null, home });
      }
      try {
        return await work(request, oidc);
      } catch (error) {
        if (!(error instanceof SignInRejected)) throw error;
        if (error.cause !== undefined) reportFailure(deps, `sign-in failed: ${error.message}`, error.cause);
        const returnTo = requestedPage(request) ?? attemptOf(request, oidc, deps)?.returnTo ?? home;
        return errorPage(error.status, error.message, {
          retryUrl: loginUrl(returnTo),
          home: homeOf(returnTo),
        });
      }
    };
  };
  app.get(
    loginPath,
    guarded(async (request, oidc) => {
      const admin = deps.settings().admin;
      const own = originInBrowser(request, deps.originOf(request).isFromProxy, admin);
      const redirectUri = `${own}${base}/callback`;
      const { searchParams } = urlOf({ request });
      const choosesAccount = searchParams.get("prompt") === "select_account";
      const { url, ...attempt } = await signIn.begin(oidc, redirectUri, choosesAccount);
      const endsAtMs = deps.clock.wallMs() + attemptMinutes * 60_000;
      const returnTo = requestedPage(request) ?? home;
      const encrypted = encryptAttempt({ ...attempt, redirectUri, returnTo, endsAtMs }, oidc.clientSecret);
      const attempts = [...cookiesOf(request).keys()].filter((name) => attemptName.test(name));
      return redirect(url.href, [
        ...attempts.slice(0, 1 - maxAttempts).map((name) => attemptCookie(name, null, redirectUri)),
        attemptCookie(cookieFor(attempt.state), encrypted, redirectUri),
      ]);
    }),
  );
  app.get(
    `${base}/callback`,
    guarded(async (request, oidc) => {
      const attempt = attemptOf(request, oidc, deps);
      if (attempt === null)
        throw new SignInRejected(401, "This sign-in was started elsewhere or has expired. Sign in again.");
      const callback = new URL(attempt.redirectUri);
      callback.search = urlOf({ request }).search;
      const signedIn = await signIn.finish(oidc, callback, attempt);
      const { person, provider } = signedIn;
      const identity = { kind: "person", issuer: oidc.issuer, ...person } as const;
      await refreshSignIn(deps, identity, deps.settings().admin);
      if (rolesOf(person, deps.settings().admin).size === 0) {
        const message = `You signed in as ${person.user}, which has no role here. Ask an operator for one.`;
        return errorPage(403, message, {
          retryUrl: otherAccountUrl(signedIn, attempt.returnTo),
          home: homeOf(attempt.returnTo),
        });
      }
      const session = await deps.guard.sessions.begin(identity, { provider, lengthMs: oidc.sessionMs });
      await recordSignIn(deps, request, person.user);
      const isSecure = attempt.redirectUri.startsWith("https:");
      return redirect(attempt.returnTo, [
        ...sessionCookies(session, oidc.sessionMs, isSecure),
        attemptCookie(cookieFor(attempt.state), null, attempt.redirectUri),
      ]);
    }),
  );
}

const loginPath = `${base}/login`;

/**
 * The sign-out page for a person without a role, so that they can sign in as someone else. If the provider does not let
 * them choose an account, they would return as the same person.
 */
function otherAccountUrl({ offersAccounts, provider }: SignedIn, returnTo: string): string {
  const chooses = `${loginUrl(returnTo)}&prompt=select_account`;
  return offersAccounts ? chooses : (provider.signOutUrl ?? chooses);
}

function loginUrl(returnTo: string): string {
  return `${loginPath}?return=${encodeURIComponent(returnTo)}`;
}

/** The attempt that a callback belongs to; null if it was started in another browser, or has expired. */
function attemptOf(request: Request, { clientSecret }: OidcSettings, { clock }: AdminDeps) {
  const { searchParams } = urlOf({ request });
  const encrypted = cookiesOf(request).get(cookieFor(searchParams.get("state") ?? "")) ?? "";
  return decryptAttempt(encrypted, clientSecret, clock.wallMs());
}

/**
 * Returns only to pages of this gateway, so that it cannot be used as an open redirect. The pattern must match the path
 * as written and as a browser resolves it, without dots. Null for any other address.
 */
function requestedPage(request: Request): string | null {
  const path = urlOf({ request }).searchParams.get("return");
  const page = /^\/(admin|usage)(?![\w-])[\w\-./?=&%#]{0,500}$/;
  if (path === null || !page.test(path) || path.includes("//")) return null;
  return page.test(new URL(path, "http://localhost").pathname) ? path : null;
}

/** Each tab has its own cookie, so that parallel attempts do not overwrite each other. */
function cookieFor(state: string): string {
  return cookiePrefix + state.slice(0, 16);
}

function cookiesOf(request: Request): Bun.CookieMap {
  return new Bun.CookieMap(request.headers.get("cookie") ?? "");
}

function attemptCookie(name: string, encrypted: string | null, redirectUri: string): string {
  const secure = redirectUri.startsWith("https:") ? "; Secure" : "";
  const age = encrypted === null ? 0 : attemptMinutes * 60;
  return `${name}=${encrypted ?? ""}; Path=${base}; HttpOnly; SameSite=Lax; Max-Age=${age}${secure}`;
}

function redirect(location: string, cookies: readonly string[]): Response {
  return withCookies(new Response(null, { status: 302, headers: answerHeaders({ location }) }), cookies);
}
