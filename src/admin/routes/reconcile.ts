import { billIn, comparedDays, defaultTolerance, reconcile } from "../operations/reconcile.ts";
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
      const request = { provider, tolerance, bill, settings: deps.settings(), ...comparedDays(from, to) };
      const answer = await reconcile(deps, request);
      const detail = `${from} to ${to}: ${answer.differing} of ${answer.data.length} differ`;
      return { answer, change: { action: "reconcile", target: provider, detail } };
    },
  ),
];
