import {
  billIn,
  comparedDays,
  defaultTolerance,
  reconcile,
  reconciliationDocument,
} from "../operations/reconcile.ts";
import { reconcileBody, reconciliationView } from "../views/reconcile.ts";
import { type AdminRoute, post } from "./route.ts";

/** Reports of a month are far shorter, unless they tell every key and project apart. */
const maxBytes = 4 * 1024 * 1024;

export const reconcileRoutes: readonly AdminRoute[] = [
  post(
    "/reconcile",
    "Hold what a provider has billed against the ledger",
    {
      // It changes nothing.
      role: "viewer",
      body: reconcileBody,
      answers: reconciliationView,
      maxBytes,
    },
    async ({ deps, body: { provider, from, to, files = [], figures, tolerance = defaultTolerance } }) => {
      const bill = billIn(
        files.map((text, index) => ({ name: `files[${index}]`, text })),
        figures,
      );
      await deps.flushEndings();
      const request = { provider, tolerance, ...comparedDays(from, to) };
      const comparison = await reconcile(deps, { ...request, bill, settings: deps.settings() });
      const detail = `${from} to ${to}: ${comparison.differingRows} of ${comparison.rows.length} differ`;
      return {
        answer: reconciliationDocument(comparison, request),
        change: { action: "reconcile", target: provider, detail },
      };
    },
  ),
];
