import { accountRoutes } from "../accounts/routes.ts";
import { adminTokenRoutes } from "../auth/admin-token-routes.ts";
import { deviceRoutes } from "../auth/device/routes.ts";
import { sessionRoutes } from "../auth/session-list.ts";
import { signInRoutes } from "../auth/sign-ins/routes.ts";
import { batchRoutes } from "../batches/routes.ts";
import { capRoutes } from "../caps/routes.ts";
import { configRoutes } from "../config/routes.ts";
import { contentRoutes } from "../content/routes.ts";
import type { AdminDeps } from "../deps.ts";
import { feedRoutes } from "../feed/routes.ts";
import { keyRoutes } from "../keys/routes.ts";
import { priceRoutes } from "../models/prices.ts";
import { modelRoutes } from "../models/routes.ts";
import { playgroundRoutes } from "../playground/routes.ts";
import { reconcileRoutes } from "../reconcile/routes.ts";
import { ledgerRoutes } from "../reports/ledger-routes.ts";
import { reportRoutes } from "../reports/routes.ts";
import { sessionAgentRoutes } from "../reports/session-agents.ts";
import { responseRoutes } from "../responses/routes.ts";
import type { AdminRoute } from "../routes/route.ts";
import { systemRoutes } from "../system/routes.ts";

/** Everything that an operator can do: the admin API, its OpenAPI document and the commands call these. */
export function operationsOf(deps: AdminDeps): readonly AdminRoute[] {
  return [
    ...keyRoutes,
    ...accountRoutes,
    ...capRoutes,
    ...playgroundRoutes,
    ...modelRoutes,
    ...priceRoutes,
    ...reconcileRoutes(),
    ...reportRoutes(deps),
    ...sessionAgentRoutes,
    ...ledgerRoutes,
    ...feedRoutes,
    ...contentRoutes,
    ...responseRoutes,
    ...batchRoutes,
    ...systemRoutes(deps),
    ...configRoutes,
    ...adminTokenRoutes,
    ...sessionRoutes,
    ...deviceRoutes,
    ...signInRoutes,
  ];
}
