import type { Elysia } from "elysia";
import { inFrames } from "../../base/requests/frames.ts";
import { accessError } from "../access/access-error.ts";
import { admit, admitAsMember, admitKey, bearerOf } from "../access/guard.ts";
import type { Caller } from "../access/identity.ts";
import type { Role } from "../access/roles.ts";
import { audit, type Change } from "../audit.ts";
import type { AdminDeps } from "../deps.ts";
import {
  AdminError,
  answerHeaders,
  expectedError,
  json,
  notFound,
  refusalResponse,
} from "../formats/admin-error.ts";
import { gzipped } from "../formats/gzip.ts";
import { isLong } from "../formats/json-parts.ts";
import { unknownKey } from "../key-terms/find-key.ts";
import { bodyBytes, checkedBody, checkedQuery } from "./check.ts";
import { type AdminCall, type AdminRoute, namedBy, roleFor } from "./route.ts";

/**
 * How callers authenticate: with a sign-in or admin token, or for their own data also with an API key, which can only
 * read that key's data. Some routes do not accept a key in place of the sign-in.
 */
export type Proof = "sign-in" | "own" | "own-sign-in";

/** Every route takes the same steps: authentication and role, validation, the work, the audit log. */
export function mountRoute(
  app: Elysia,
  base: string,
  deps: AdminDeps,
  route: AdminRoute,
  proof: Proof = "sign-in",
): void {
  app.route(
    route.method,
    base + route.path,
    ({ request, params = {} }) =>
      answeringErrors(deps, () => answer(deps, route, { request, params, proof })),
    { parse: "none" },
  );
}

interface ReceivedCall {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly proof: Proof;
}

async function answer(
  deps: AdminDeps,
  route: AdminRoute,
  { request, params, proof }: ReceivedCall,
): Promise<Response> {
  const origin = deps.originOf(request);
  const changes = route.method !== "GET";
  const needed = route.roleIn?.(deps.settings()) ?? roleFor(route);
  const verdict =
    proof === "sign-in"
      ? await admit(deps.guard, request, origin, needed, changes)
      : await admitOwner(deps, { request, route, needed, proof });
  if (verdict.kind === "refused") throw await accessError(deps.guard.lockout, verdict);
  const { caller } = verdict;
  // Only now: a client that is not admitted has as long as any other connection.
  deps.keepWaiting(request);
  const query = checkedQuery(route.query, request.url);
  if (caller.role === "member") {
    rejectAccount(query);
    confine(deps, caller, params["key"] ?? namedKey(route, query));
  }
  const admitted = { deps, request, named: namedBy(params), query, caller, address: origin.address };
  return answerInFrames(deps, request, (report) =>
    answeringErrors(deps, () => {
      const shared = { ...admitted, report };
      if (route.limitedAs === undefined) return perform(route, shared);
      return deps.guard.reads[route.limitedAs].run(caller.name, request.signal, () => perform(route, shared));
    }),
  );
}

/** Lets operations report their progress, and take as long as they need. */
export function answerInFrames(
  { log }: Pick<AdminDeps, "log">,
  request: Request,
  work: (report: AdminCall["report"]) => Promise<Response>,
): Promise<Response> {
  const failed = (err: unknown) => {
    log.warn({ err }, "an operation failed");
    return json({ error: { code: "internal", message: "the gateway failed; see its log" } }, 500);
  };
  return inFrames({ request, headers: answerHeaders, work, failed });
}

interface OwnersCall {
  readonly request: Request;
  readonly route: AdminRoute;
  readonly needed: Role;
  readonly proof: Proof;
}

async function admitOwner(deps: AdminDeps, { request, route, needed, proof }: OwnersCall) {
  const origin = deps.originOf(request);
  const bearer = bearerOf(request);
  const changes = route.method !== "GET";
  if (bearer !== null) {
    if (changes) throw keysOnlyRead;
    if (proof !== "own") throw notFound("such path for keys");
    return admitKey(deps, bearer, origin);
  }
  const verdict = await admitAsMember(deps.guard, request, origin, changes);
  if (verdict.kind === "admitted" && needed !== "member") throw notFound("such path for members");
  return verdict;
}

/** If a key could change itself, a leaked key could be taken over. */
export const keysOnlyRead = new AdminError(
  403,
  "role_needed",
  "A key gives read-only access. Sign in as the key's owner to make changes, or ask the operator.",
);

/** Does the work of an admitted call, and writes a change to the audit log. */
export async function perform(route: AdminRoute, shared: Omit<AdminCall, "body">): Promise<Response> {
  const { request } = shared;
  if (route.method === "GET") {
    const result = await route.handle({ ...shared, body: null });
    if (result instanceof Response) return result;
    return isLong(result) ? gzipped(request, json(result)) : json(result);
  }
  const body = route.isBodyUnread
    ? await bodyBytes(request, route.maxBytes)
    : await checkedBody(route.body, request, route.maxBytes);
  const call = { ...shared, body };
  const changed = await route.handle(call);
  if (changed.change !== null) await writeAudit(call, changed.change);
  return json(changed.answer);
}

/** Members cannot filter by account: any response would reveal whether that account exists. */
function rejectAccount(query: unknown): void {
  if ((query as { readonly account?: string }).account === undefined) return;
  throw new AdminError(403, "role_needed", "Remove `account`: you can see only your own keys.", {
    param: "account",
  });
}

/** The key that the query filters by; undefined if the route has no `key` parameter. */
function namedKey({ query: schema }: AdminRoute, query: unknown): string | null | undefined {
  if (schema === undefined || !("key" in schema.properties)) return undefined;
  return (query as { readonly key?: string }).key ?? null;
}

/**
 * Limits a member to one key of their own. Another person's key looks like one that does not exist. Only ids and
 * prefixes are accepted, because a label can match keys of others.
 */
function confine(deps: AdminDeps, caller: Caller, name: string | null | undefined): void {
  if (name === undefined) return;
  if (name === null) {
    throw new AdminError(403, "role_needed", "Pass `key` with one of your keys.", { param: "key" });
  }
  for (const key of deps.keys.all()) {
    if ((key.id === name || key.prefix === name) && caller.owns(key)) return;
  }
  throw unknownKey(name);
}

export async function writeAudit(
  call: Pick<AdminCall, "deps" | "address" | "caller">,
  change: Change,
): Promise<void> {
  const { deps, address, caller } = call;
  await audit(deps, { actor: caller.name, address }, change);
}

/** Turns expected errors into responses. Others propagate to the HTTP server, which logs them. */
export async function answeringErrors(
  { store }: Pick<AdminDeps, "store">,
  work: () => Promise<Response> | Response,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    const refusal = expectedError(store.files?.explain(error) ?? error);
    if (refusal === null) throw error;
    return refusalResponse(refusal);
  }
}
