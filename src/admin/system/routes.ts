import { Type } from "@sinclair/typebox";
import { residentBytes } from "../../base/system/resident-bytes.ts";
import type { ServedRoute } from "../../gateway/exchange/served-operation.ts";
import { routes } from "../../gateway/operations.ts";
import { localName } from "../access/actor.ts";
import { isStillAdmitted } from "../access/guard.ts";
import { invalidInput } from "../context.ts";
import type { AdminDeps } from "../deps.ts";
import { AdminError } from "../formats/admin-error.ts";
import { listOf, oneOf, pageOf, text, when } from "../formats/shapes.ts";
import { tailResponse } from "../live/tail.ts";
import { iso, isoMs, momentOf } from "../moments.ts";
import { type AdminRoute, get, post } from "../routes/route.ts";
import { acknowledgeBody, acknowledgedView, alertView } from "./alert-schema.ts";
import { alertDocument, pastAlertViews } from "./list-alerts.ts";
import { listAudit } from "./list-audit.ts";
import { listNodes } from "./list-nodes.ts";
import {
  auditView,
  type HealthView,
  healthView,
  nodeView,
  type RouteView,
  routeView,
  storageView,
} from "./schema.ts";
import { setupSteps } from "./setup.ts";
import { setupStepView } from "./setup-schema.ts";
import { readStorage } from "./storage.ts";

const alertQuery = Type.Object({
  now: Type.Optional(oneOf(["true", "false"])),
  past: Type.Optional(
    Type.Union([Type.Literal("true"), Type.Literal("false")], {
      description: "Only alerts that were resolved within 90 days, the latest first.",
    }),
  ),
});

const auditQuery = Type.Object({
  search: Type.Optional(
    Type.String({ maxLength: 200, description: "Match any text: actor, address, action, target or detail." }),
  ),
  since: Type.Optional(when),
  until: Type.Optional(when),
  cursor: Type.Optional(Type.Integer({ minimum: 1 })),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 50 }),
});

export function systemRoutes(deps: AdminDeps): readonly AdminRoute[] {
  const stepsOfSetup = setupSteps(deps);
  return [
    get("/health", "Show the state of the gateway", { answers: healthView }, ({ deps }) => health(deps)),
    get(
      "/alerts",
      "List active alerts, most urgent first",
      { query: alertQuery, answers: listOf(alertView) },
      async ({ deps, query: { now, past } }) => {
        if (past === "true") return { data: await pastAlertViews(deps) };
        const alerts = now === "true" ? await deps.checkAlerts() : deps.alerts();
        return { data: alerts.map(alertDocument) };
      },
    ),
    post(
      "/alerts/ack",
      "Acknowledge the alerts of a kind until a day",
      { body: acknowledgeBody, answers: acknowledgedView },
      async ({ deps, caller, address, body: { kind, until } }) => {
        // A command has the role of the data folder's owner; its address is the user who runs it.
        const by = caller.name === localName ? address : caller.name;
        const untilMs = isoMs(until) ?? 0;
        if (untilMs <= deps.clock.wallMs()) throw invalidInput("`until` must be in the future");
        await deps.store.alerts.acknowledge({ kind, actor: by, untilMs });
        const answer = { kind, acknowledged: { by, until: iso(untilMs) } };
        const change = { action: "alerts.ack", target: kind, detail: `until ${iso(untilMs)}` };
        return { answer, change };
      },
    ),
    get(
      "/nodes",
      "List the gateways that share the database; empty with SQLite",
      { answers: listOf(nodeView) },
      async ({ deps }) => ({ data: await listNodes(deps.store) }),
    ),
    get(
      "/storage",
      "Show storage use, retention and the last deletions",
      { answers: storageView },
      async ({ deps }) => readStorage(deps.store, deps.settings(), (await deps.content?.sizes()) ?? null),
    ),
    get("/routes", "The routes that clients call", { answers: listOf(routeView) }, ({ deps }) => ({
      data: routes.flatMap((route) => routeDocument(route, deps)),
    })),
    get(
      "/audit",
      "List the audit log, newest first",
      { query: auditQuery, answers: pageOf(auditView) },
      async ({ deps, query: { limit, cursor, since, until, search } }) => {
        const nowMs = deps.clock.wallMs();
        const [sinceMs, untilMs] = [momentOf(since, nowMs), momentOf(until, nowMs)];
        const data = await listAudit(deps.store, { limit, beforeId: cursor, sinceMs, untilMs, search });
        const last = data.at(-1);
        return { data, next_cursor: data.length === limit && last !== undefined ? String(last.id) : null };
      },
    ),
    get(
      "/tail",
      "Stream every request as it ends, as server-sent events",
      { answers: text("text/event-stream; the data of each event is one request.") },
      ({ deps, request, caller: { name } }) => {
        const { feed, tails } = deps.live;
        if (!tails.tryEnter(name)) {
          throw new AdminError(
            429,
            "too_many_tails",
            "You have 10 live tails open. Close one of them first.",
          );
        }
        const mayStay = () => isStillAdmitted(deps.guard, request, deps.originOf(request), "viewer");
        return tailResponse(feed, mayStay, { onLeave: () => tails.leave(name) });
      },
    ),
    get(
      "/setup",
      "List the remaining setup steps of a new gateway, with a command for each",
      { answers: listOf(setupStepView) },
      async () => ({ data: await stepsOfSetup() }),
    ),
  ];
}

/** Empty for a route that is turned off. */
function routeDocument(route: ServedRoute, deps: AdminDeps): RouteView[] {
  const { method, path, mode, dialect, use = null, switchedBy } = route;
  if (switchedBy !== undefined && !deps.settings().routes[switchedBy]) return [];
  return [{ method, path, mode, dialect, operation: route.description.operationId, use }];
}

function health(deps: AdminDeps): HealthView {
  const problem = deps.problem();
  return {
    status: deps.isDraining() ? "draining" : problem === null ? "ok" : "unhealthy",
    problem: problem && { reason: problem.reason, advice: problem.advice },
    version: deps.version,
    address: deps.address(),
    data_folder: deps.settings().server.data,
    uptime_seconds: deps.live.uptimeMs / 1000,
    in_flight: deps.inFlight(),
    event_loop_lag_ms: deps.live.lag.maxMs,
    memory_bytes: residentBytes(),
  };
}
