import type { Elysia } from "elysia";
import { newId } from "../../base/id.ts";
import { actorName } from "../auth/actor.ts";
import { admit, callerOf, sessionCookie, sessionOf, tryToken } from "../auth/guard.ts";
import { isOverTls, isOwnOrigin } from "../auth/origin.ts";
import type { AdminDeps } from "../deps.ts";
import { type SessionView, type SignInBody, signInBody } from "../views/system.ts";
import { checkedBody } from "./check.ts";
import { answeringErrors } from "./mount.ts";
import { AdminError, accessError, answerHeaders, json } from "./refusal.ts";

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
  const verdict = await admit(deps.guard, request, deps.originOf(request), "holder", false);
  const caller = verdict.kind === "admitted" ? verdict.caller : null;
  const { oidc, holdersMayCreate } = deps.settings().admin;
  return {
    signed_in: caller !== null,
    name: caller?.name ?? null,
    role: caller?.role ?? null,
    may_create_keys: caller?.role === "admin" || (caller?.owner != null && holdersMayCreate !== null),
    oidc: oidc !== null,
  };
}

async function signIn(deps: AdminDeps, request: Request): Promise<Response> {
  refuseForeign(deps, request);
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
  // Operators must be able to look at a gateway that cannot write, so the record is then not waited for.
  if (deps.trouble() === null) await recorded;
  else void recorded.catch(() => undefined);
}

async function signOut(deps: AdminDeps, request: Request): Promise<Response> {
  refuseForeign(deps, request);
  const session = sessionOf(request);
  if (session !== null) await deps.guard.sessions.end(session);
  return empty(sessionCookie(null, isSecure(deps, request)));
}

function isSecure(deps: AdminDeps, request: Request): boolean {
  return isOverTls(request, deps.originOf(request).isFromProxy, deps.settings().admin);
}

function refuseForeign(deps: AdminDeps, request: Request): void {
  if (isOwnOrigin(request, deps.settings().admin, false)) return;
  throw new AdminError(403, "foreign_origin", "A change must come from this gateway's own page.");
}

function empty(cookie: string): Response {
  const headers = { ...answerHeaders, "x-request-id": newId("req_"), "set-cookie": cookie };
  return new Response(null, { status: 204, headers });
}
