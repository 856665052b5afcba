import { type AdminRoute, postBytes } from "../routes/route.ts";
import { ReconcileThread } from "./reconcile-thread.ts";
import { reconcileBody, reconciliationView } from "./schema.ts";

/** A month's report is far smaller, unless it is broken down by key and project. */
const maxBytes = 4 * 1024 * 1024;

export function reconcileRoutes(thread = new ReconcileThread()): readonly AdminRoute[] {
  return [
    postBytes(
      "/reconcile",
      "Compare the ledger with a provider's usage report",
      {
        // It changes nothing.
        role: "viewer",
        body: reconcileBody,
        answers: reconciliationView,
        maxBytes,
        limitedAs: "reports",
      },
      async ({ deps, body, request: { signal } }) => {
        await deps.flushRequestLog();
        const { request, json, rows, differing } = await thread.reconcile({
          body,
          signal,
          providers: [...deps.settings().providers.keys()],
          attempts: ({ provider, fromDay, throughDay }) =>
            deps.store.reports.attemptPages(provider, fromDay, throughDay),
        });
        const detail = `${request.from} to ${request.to}: ${differing} of ${rows} differ`;
        return { answer: json, change: { action: "reconcile", target: request.provider, detail } };
      },
    ),
  ];
}
