import { type AdminRoute, get, post } from "../../routes/route.ts";
import { allowSignIns, listSignIns, revokeSignIns } from "./operations.ts";
import { allowBody, allowedView, revokeBody, revokedView, signInList, signInQuery } from "./schema.ts";

/** Programs that people have signed in. */
export const signInRoutes: readonly AdminRoute[] = [
  get(
    "/sign-ins",
    "List the programs that people have signed in",
    { query: signInQuery, answers: signInList },
    async ({ deps, query }) => ({ data: await listSignIns(deps, query.person) }),
  ),
  post(
    "/sign-ins/revoke",
    "End one sign-in of a program, or all sign-ins of a person",
    { body: revokeBody, answers: revokedView },
    async ({ deps, body, caller, address }) => {
      const ended = await revokeSignIns(deps, body, { actor: caller.name, address });
      await deps.applyChanges();
      const target = body.id ?? body.person ?? null;
      return { answer: { ended }, change: { action: "sign_in.revoke", target, detail: `${ended} ended` } };
    },
  ),
  post(
    "/sign-ins/allow",
    "Let a person sign in again whose key for sign-ins was revoked",
    { body: allowBody, answers: allowedView },
    async ({ deps, body: { person } }) => {
      const allowed = await allowSignIns(deps, person);
      return { answer: { allowed }, change: { action: "sign_in.allow", target: person, detail: null } };
    },
  ),
];
