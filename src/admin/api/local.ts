import { localName } from "../access/actor.ts";
import { OperationError } from "../context.ts";
import type { AdminDeps, UnmountedDeps } from "../deps.ts";
import { AdminError, clientGone, expectedError, json, refusalResponse } from "../formats/admin-error.ts";
import { checkedQuery } from "../routes/check.ts";
import { answerInFrames, perform } from "../routes/mount.ts";
import { type AdminCall, routeAt } from "../routes/route.ts";
import { operationsOf } from "./operations.ts";

/** For files of the owner, such as a year of reports. */
const maxBytes = 256 * 1024 * 1024;

/** Performs an operation for a user of this machine. */
export type LocalOperations = (request: Request) => Promise<Response>;

/**
 * Header with the system user who runs the command. It is trusted, because only users who can write to the data folder
 * can connect.
 */
export const userHeader = "x-sluice-user";

/**
 * The operations of the admin API for the owner of the data folder, who can do all of them: without a sign-in, and without
 * the limits of reports. Errors are phrased as commands print them. An unexpected error is thrown.
 */
export function localOperations(unmounted: UnmountedDeps): LocalOperations {
  const connections = { originOf: () => ({ address: "", isFromProxy: false }), keepWaiting: () => {} };
  const deps: AdminDeps = { ...unmounted, ...connections };
  const routes = operationsOf(deps);
  const answer = async (request: Request, report: AdminCall["report"]) => {
    const address = decodeURIComponent(request.headers.get(userHeader) ?? "unknown");
    try {
      const found = routeAt(routes, request.method, new URL(request.url).pathname);
      if (found === null) throw unknownOperation(deps.version);
      const { route, named } = found;
      const query = checkedQuery(route.query, request.url);
      const takesFiles = route.method !== "GET" && route.maxBytes !== undefined;
      const served = takesFiles ? { ...route, maxBytes } : route;
      return await perform(served, { deps, request, named, query, caller, address, report });
    } catch (error) {
      if (request.signal.aborted) return refusalResponse(clientGone());
      const explained = deps.store.files?.explain(error) ?? error;
      const refusal = expectedError(explained);
      if (refusal === null) throw explained;
      const { status, code } = refusal;
      const { message } = explained instanceof OperationError ? explained : refusal;
      return json({ error: { code, message } }, status);
    }
  };
  return (request) => answerInFrames(deps, request, (report) => answer(request, report));
}

const caller = { role: "admin", name: localName, owner: null, owns: () => false, person: null } as const;

function unknownOperation(version: string): AdminError {
  const message = `the running gateway (release ${version}) does not have this operation; restart it with the release of this command`;
  return new AdminError(404, "unknown_operation", message);
}
