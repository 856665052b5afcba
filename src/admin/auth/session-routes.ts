import type { Elysia } from "elysia";
import { accessError } from "../access/access-error.ts";
import { actorName } from "../access/actor.ts";
import {
  admit,
  admitAsMember,
  callerOf,
  endedSessionCookies,
  sessionCookies,
  sessionOf,
  tryToken,
} from "../access/guard.ts";
import type { Caller } from "../access/identity.ts";
import { foreignOrigin, isOverTls, isOwnOrigin } from "../access/origin.ts";
import { memberKeyTerms } from "../access/person.ts";
import { tokenSessionMs } from "../access/sessions.ts";
import { audit } from "../audit.ts";
import type { AdminDeps } from "../deps.ts";
import { AdminError, answerHeaders, json } from "../formats/admin-error.ts";
import { checkedBody } from "../routes/check.ts";
import { answeringErrors } from "../routes/mount.ts";
import { type EndedSessionView, type SessionView, type SignInBody, signInBody } from "./schema.ts";

/** Room for a token and its field name. This is the only body read from unauthenticated callers. */
const maxSignInBytes = 4096;

/** Sign-in and sign-out with a token, and who is signed in: routes without authentication. */
export function mountSession(app: Elysia, base: string, deps: AdminDeps): void {
  const path = `${base}/session`;
  const find = (request: Request) => admit(deps.guard, request, deps.originOf(request), "member", false);
  mountShownSession(app, path, deps, find);
  app.post(path, ({ request }) => answeringErrors(deps, () => signIn(deps, request)), { parse: "none" });
}

/** Who is signed in, and sign-out, for the self-service page. Its people sign in at their identity provider. */
export function mountMemberSession(app: Elysia, base: string, deps: AdminDeps): void {
  const find = (request: Request) => admitAsMember(deps.guard, request, deps.originOf(request), false);
  mountShownSession(app, `${base}/session`, deps, find);
}

type FindCaller = (request: Request) => ReturnType<typeof admit>;

function mountShownSession(app: Elysia, path: string, deps: AdminDeps, find: FindCaller): void {
  app.get(path, ({ request }) =>
    answeringErrors(deps, async () => json(sessionView(deps, await find(request)))),
  );
  app.delete(path, ({ request }) => answeringErrors(deps, () => signOut(deps, request)), { parse: "none" });
}

function sessionView(deps: AdminDeps, verdict: Awaited<ReturnType<FindCaller>>): SessionView {
  const caller = verdict.kind === "admitted" ? verdict.caller : null;
  const { admin } = deps.settings();
  const terms = caller?.person == null ? null : memberKeyTerms(caller.person, admin);
  return {
    signed_in: caller !== null,
    name: caller?.name ?? null,
    role: caller?.role ?? null,
    may_create_keys: caller?.role === "admin" || (caller?.owner != null && terms !== null),
    new_key: caller?.owner == null || terms === null ? null : { account: terms.account, cap: terms.cap },
    reads_content: readsContent(deps, caller),
    oidc: admin.oidc !== null,
  };
}

/** Whether the caller can read recorded content: viewers never, members their own if the configuration allows it. */
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
  const signedIn = new Response(null, { status: 204, headers: answerHeaders() });
  return withCookies(signedIn, sessionCookies(session, tokenSessionMs, isSecure(deps, request)));
}

export async function recordSignIn(deps: AdminDeps, request: Request, actor: string): Promise<void> {
  const { address } = deps.originOf(request);
  const change = { action: "session.begin", target: null, detail: null };
  const recorded = audit(deps, { actor, address }, change);
  // The record is not awaited while the store cannot be written, so that operators can still sign in and look.
  if (deps.problem() === null) await recorded;
  else void recorded.catch(() => undefined);
}

async function signOut(deps: AdminDeps, request: Request): Promise<Response> {
  rejectForeign(deps, request);
  const id = sessionOf(request);
  const session = id === null ? null : await deps.guard.sessions.find(id);
  if (id !== null) await deps.guard.sessions.end(id);
  const ended: EndedSessionView = { sign_out_url: session?.provider?.signOutUrl ?? null };
  return withCookies(json(ended), endedSessionCookies(isSecure(deps, request)));
}

function isSecure(deps: AdminDeps, request: Request): boolean {
  return isOverTls(request, deps.originOf(request).isFromProxy, deps.settings().admin);
}

function rejectForeign(deps: AdminDeps, request: Request): void {
  if (isOwnOrigin(request, deps.settings().admin, false)) return;
  throw new AdminError(403, "foreign_origin", foreignOrigin);
}

export function withCookies(response: Response, cookies: readonly string[]): Response {
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}
