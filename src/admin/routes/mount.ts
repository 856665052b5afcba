import type { Elysia } from "elysia";
import { actorName } from "../auth/actor.ts";
import { admit, sessionOf } from "../auth/guard.ts";
import type { AdminDeps } from "../deps.ts";
import { checkedBody, checkedQuery } from "./check.ts";
import { accessError, expectedError, json, refusalResponse } from "./refusal.ts";
import type { AdminCall, AdminRoute, Change } from "./route.ts";

/** Every route takes the same steps: authentication, validation, the work, the audit log. */
export function mountRoute(app: Elysia, base: string, deps: AdminDeps, route: AdminRoute): void {
  app.route(
    route.method,
    base + route.path,
    ({ request, params }) => answeringErrors(deps, () => answer(deps, route, request, params)),
    { parse: "none" },
  );
}

async function answer(
  deps: AdminDeps,
  route: AdminRoute,
  request: Request,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const address = deps.addressOf(request);
  const verdict = await admit(deps.guard, request, address, route.method !== "GET");
  if (verdict.kind === "refused") throw await accessError(deps.guard.lockout, verdict);
  const query = checkedQuery(route.query, request.url);
  const shared = { deps, request, params, query, actor: verdict.actor, address };
  if (route.method === "GET") {
    const result = await route.handle({ ...shared, body: null });
    return result instanceof Response ? result : json(result);
  }
  const call = { ...shared, body: await checkedBody(route.body, request) };
  const changed = await route.handle(call);
  await writeAudit(call, changed.change);
  return json(changed.answer);
}

async function writeAudit(call: AdminCall, change: Change): Promise<void> {
  const { deps, request, address } = call;
  const actor = actorName(call.actor, sessionOf(request));
  await deps.store.admin.appendAudit({ atMs: deps.clock.wallMs(), actor, address, ...change });
}

/** Turns expected errors into answers. Others propagate to the edge, which logs them. */
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
