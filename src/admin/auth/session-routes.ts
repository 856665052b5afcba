import type { Elysia } from "elysia";
import { newId } from "../../base/id.ts";
import type { OidcSettings } from "../../config/settings.ts";
import { urlOf } from "../../gateway/client-call.ts";
import type { AdminDeps } from "../deps.ts";
import { checkedBody } from "../routes/check.ts";
import { answeringErrors } from "../routes/mount.ts";
import { AdminError, accessError, answerHeaders, json } from "../routes/refusal.ts";
import { type SessionView, type SignInBody, signInBody } from "../system/schema.ts";
import { actorName } from "./actor.ts";
import { admit, callerOf, sessionCookie, sessionOf, tryToken } from "./guard.ts";
import type { Caller } from "./identity.ts";
import { refreshSignIn } from "./lost-sign-ins.ts";
import { OidcSignIn, SignInRejected } from "./oidc.ts";
import { attemptMinutes, openAttempt, sealAttempt } from "./oidc-attempt.ts";
import { foreignOrigin, isOverTls, isOwnOrigin, originInBrowser } from "./origin.ts";
import { rolesOf } from "./person.ts";

/** Room for a token and its field name. This is the only body read from unauthenticated callers. */
const maxSignInBytes = 4096;

/** Sign-in and sign-out with a token, and who is signed in: routes without authentication. */
export function mountSession(app: Elysia, base: string, deps: AdminDeps): void {
  const path = `${base}/session`;
  app.get(path, ({ request }) => answeringErrors(deps, async () => json(await sessionView(deps, request))));
  app.post(path, ({ request }) => answeringErrors(deps, () => signIn(deps, request)), { parse: "none" });
  app.delete(path, ({ request }) => answeringErrors(deps, () => signOut(deps, request)), { parse: "none" });
}

async function sessionView(deps: AdminDeps, request: Request): Promise<SessionView> {
  const verdict = await admit(deps.guard, request, deps.originOf(request), "member", false);
  const caller = verdict.kind === "admitted" ? verdict.caller : null;
  const { oidc, memberKeys } = deps.settings().admin;
  return {
    signed_in: caller !== null,
    name: caller?.name ?? null,
    role: caller?.role ?? null,
    may_create_keys: caller?.role === "admin" || (caller?.owner != null && memberKeys !== null),
    new_key:
      caller?.owner == null || memberKeys === null
        ? null
        : { account: memberKeys.account, cap: memberKeys.cap ?? null },
    reads_content: readsContent(deps, caller),
    oidc: oidc !== null,
  };
}

/** Whether the caller can read recorded content: viewers alone never, members their own if the configuration allows it. */
function readsContent(deps: AdminDeps, caller: Caller | null): boolean {
  if (deps.content === null || caller === null) return false;
  return (
    caller.role === "admin" || (caller.owner !== null && deps.settings().content?.membersSeeOwn === true)
  );
}

async function signIn(deps: AdminDeps, request: Request): Promise<Response> {
  rejectForeign(deps, request);
  const { address } = deps.originOf(request);
  const { token } = (await checkedBody(signInBody, request, maxSignInBytes)) as SignInBody;
  const verdict = await tryToken(deps.guard, token, address);
  if (verdict.kind === "refused") throw await accessError(deps.guard.lockout, verdict);
  const session = await deps.guard.sessions.begin(verdict.identity);
  const caller = await callerOf(deps.guard, verdict.identity, session);
  await recordSignIn(deps, request, caller?.name ?? actorName(session));
  return empty(sessionCookie(session, isSecure(deps, request)));
}

export async function recordSignIn(deps: AdminDeps, request: Request, actor: string): Promise<void> {
  const { address } = deps.originOf(request);
  const change = { action: "session.begin", target: null, detail: null };
  const recorded = deps.store.admin.appendAudit({ atMs: deps.clock.wallMs(), actor, address, ...change });
  // The record is not awaited while the store cannot be written, so that operators can still sign in and look.
  if (deps.trouble() === null) await recorded;
  else void recorded.catch(() => undefined);
}

async function signOut(deps: AdminDeps, request: Request): Promise<Response> {
  rejectForeign(deps, request);
  const session = sessionOf(request);
  if (session !== null) await deps.guard.sessions.end(session);
  return empty(sessionCookie(null, isSecure(deps, request)));
}

function isSecure(deps: AdminDeps, request: Request): boolean {
  return isOverTls(request, deps.originOf(request).isFromProxy, deps.settings().admin);
}

function rejectForeign(deps: AdminDeps, request: Request): void {
  if (isOwnOrigin(request, deps.settings().admin, false)) return;
  throw new AdminError(403, "foreign_origin", foreignOrigin);
}

function empty(cookie: string): Response {
  const headers = { ...answerHeaders, "x-request-id": newId("req_"), "set-cookie": cookie };
  return new Response(null, { status: 204, headers });
}

const home = "/admin";
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
      if (oidc === null) return errorPage(404, "Signing in with OpenID Connect is not configured here.");
      try {
        return await work(request, oidc);
      } catch (error) {
        if (error instanceof SignInRejected) return errorPage(error.status, error.message);
        throw error;
      }
    };
  };
  app.get(
    `${base}/login`,
    guarded(async (request, oidc) => {
      const admin = deps.settings().admin;
      const own = originInBrowser(request, deps.originOf(request).isFromProxy, admin);
      const redirectUri = `${own}${base}/callback`;
      const { url, ...attempt } = await signIn.begin(oidc, redirectUri);
      const endsAtMs = deps.clock.wallMs() + attemptMinutes * 60_000;
      const returnTo = safeReturn(urlOf({ request }).searchParams.get("return"));
      const sealed = sealAttempt({ ...attempt, redirectUri, returnTo, endsAtMs }, oidc.clientSecret);
      const attempts = [...cookiesOf(request).keys()].filter((name) => attemptName.test(name));
      return redirect(url.href, [
        ...attempts.slice(0, 1 - maxAttempts).map((name) => attemptCookie(name, null, redirectUri)),
        attemptCookie(cookieFor(attempt.state), sealed, redirectUri),
      ]);
    }),
  );
  app.get(
    `${base}/callback`,
    guarded(async (request, oidc) => {
      const { search, searchParams } = urlOf({ request });
      const cookie = cookieFor(searchParams.get("state") ?? "");
      const sealed = cookiesOf(request).get(cookie) ?? "";
      const attempt = openAttempt(sealed, oidc.clientSecret, deps.clock.wallMs());
      if (attempt === null)
        throw new SignInRejected(401, "This sign-in was started elsewhere or has expired. Sign in again.");
      const callback = new URL(attempt.redirectUri);
      callback.search = search;
      const person = await signIn.finish(oidc, callback, attempt);
      const identity = { kind: "person", issuer: oidc.issuer, ...person } as const;
      await refreshSignIn(deps, identity, deps.settings().admin);
      if (rolesOf(person, deps.settings().admin).size === 0) {
        return errorPage(
          403,
          `You signed in as ${person.user}, which has no role here. Ask an operator for one.`,
        );
      }
      const session = await deps.guard.sessions.begin(identity);
      await recordSignIn(deps, request, person.user);
      const isSecure = attempt.redirectUri.startsWith("https:");
      return redirect(attempt.returnTo, [
        sessionCookie(session, isSecure),
        attemptCookie(cookie, null, attempt.redirectUri),
      ]);
    }),
  );
}

/**
 * Returns only to pages of this gateway, so that it cannot be used as an open redirect. The pattern must match the path
 * as written and as a browser resolves it, without dots.
 */
function safeReturn(path: string | null): string {
  const page = /^\/(admin|usage)(?![\w-])[\w\-./?=&%#]{0,500}$/;
  if (path === null || !page.test(path) || path.includes("//")) return home;
  return page.test(new URL(path, "http://localhost").pathname) ? path : home;
}

/** Each tab has its own cookie, so that parallel attempts do not overwrite each other. */
function cookieFor(state: string): string {
  return cookiePrefix + state.slice(0, 16);
}

function cookiesOf(request: Request): Bun.CookieMap {
  return new Bun.CookieMap(request.headers.get("cookie") ?? "");
}

function attemptCookie(name: string, sealed: string | null, redirectUri: string): string {
  const secure = redirectUri.startsWith("https:") ? "; Secure" : "";
  const age = sealed === null ? 0 : attemptMinutes * 60;
  return `${name}=${sealed ?? ""}; Path=${base}; HttpOnly; SameSite=Lax; Max-Age=${age}${secure}`;
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ ...answerHeaders, location, "x-request-id": newId("req_") });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 302, headers });
}

/** An error page for a person who came here by a link. */
function errorPage(status: 401 | 403 | 404 | 503, message: string): Response {
  const escaped = message.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sluice</title><h1>Not signed in</h1><p>${escaped}</p><p><a href="${home}">Back</a></p></html>`;
  const headers = {
    ...answerHeaders,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-request-id": newId("req_"),
  };
  return new Response(page, { status, headers });
}
