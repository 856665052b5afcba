import type { Elysia } from "elysia";
import { newId } from "../../base/id.ts";
import type { OidcSettings } from "../../config/settings.ts";
import { sessionCookie } from "../auth/guard.ts";
import { OidcSignIn, SignInRefused } from "../auth/oidc.ts";
import { attemptMinutes, openAttempt, sealAttempt } from "../auth/oidc-attempt.ts";
import { roleOf } from "../auth/person.ts";
import type { AdminDeps } from "../deps.ts";
import { answerHeaders } from "./refusal.ts";
import { recordSignIn } from "./session.ts";

const home = "/admin";
const base = "/admin/oidc";
const cookieName = "sluice_oidc";

/** Sends people to the identity provider, and takes them back. */
export function mountOidc(app: Elysia, deps: AdminDeps): void {
  const signIn = new OidcSignIn();
  const guarded = (work: (request: Request, oidc: OidcSettings) => Promise<Response>) => {
    return async ({ request }: { readonly request: Request }) => {
      const { oidc } = deps.settings().admin;
      if (oidc === null) return refusal(404, "Signing in with OpenID Connect is not configured here.");
      try {
        return await work(request, oidc);
      } catch (error) {
        if (error instanceof SignInRefused) return refusal(error.status, error.message);
        throw error;
      }
    };
  };
  app.get(
    `${base}/login`,
    guarded(async (request, oidc) => {
      const redirectUri = `${ownOrigin(deps, request)}${base}/callback`;
      const { url, ...attempt } = await signIn.begin(oidc, redirectUri);
      const endsAtMs = deps.clock.wallMs() + attemptMinutes * 60_000;
      const returnTo = safeReturn(new URL(request.url).searchParams.get("return"));
      const sealed = sealAttempt({ ...attempt, redirectUri, returnTo, endsAtMs }, oidc.clientSecret);
      return redirect(url.href, [attemptCookie(sealed, redirectUri)]);
    }),
  );
  app.get(
    `${base}/callback`,
    guarded(async (request, oidc) => {
      const sealed = new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]+)(?:;|$)`).exec(
        request.headers.get("cookie") ?? "",
      )?.[1];
      const attempt = openAttempt(sealed ?? "", oidc.clientSecret, deps.clock.wallMs());
      if (attempt === null) throw new SignInRefused(401, "This sign-in was not begun here, or is over.");
      const callback = new URL(attempt.redirectUri);
      callback.search = new URL(request.url).search;
      const person = await signIn.finish(oidc, callback, attempt);
      if (roleOf(person, deps.settings().admin) === null) {
        return refusal(403, `You are ${person.user}, who has no role here. Ask an operator for one.`);
      }
      const session = await deps.guard.sessions.begin({ kind: "person", ...person });
      await recordSignIn(deps, request, person.user);
      const isSecure = attempt.redirectUri.startsWith("https:");
      return redirect(attempt.returnTo, [
        sessionCookie(session, isSecure),
        attemptCookie(null, attempt.redirectUri),
      ]);
    }),
  );
}

/** The gateway's origin in the browser: a trusted proxy may have ended TLS. */
function ownOrigin(deps: AdminDeps, request: Request): string {
  const { publicUrl } = deps.settings().admin;
  if (publicUrl !== null) return publicUrl.replace(/\/$/, "");
  const url = new URL(request.url);
  const forwarded = deps.originOf(request).isFromProxy ? request.headers.get("x-forwarded-proto") : null;
  return forwarded === "https" ? `https://${url.host}` : url.origin;
}

/** Only to pages of this gateway: anything else would make it a signpost to other sites. */
export function safeReturn(wanted: string | null): string {
  if (wanted === null || !/^\/(admin|usage)(?![\w-])[\w\-./?=&%#]*$/.test(wanted)) return home;
  return wanted.includes("//") ? home : wanted;
}

function attemptCookie(sealed: string | null, redirectUri: string): string {
  const secure = redirectUri.startsWith("https:") ? "; Secure" : "";
  const age = sealed === null ? 0 : attemptMinutes * 60;
  return `${cookieName}=${sealed ?? ""}; Path=${base}; HttpOnly; SameSite=Lax; Max-Age=${age}${secure}`;
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ ...answerHeaders, location, "x-request-id": newId("req_") });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 302, headers });
}

/** For a person at a browser, who came here by a link. */
function refusal(status: 401 | 403 | 404 | 503, message: string): Response {
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
