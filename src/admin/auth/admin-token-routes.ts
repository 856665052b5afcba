import { listOf } from "../formats/shapes.ts";
import { type AdminRoute, get, post } from "../routes/route.ts";
import { createAdminToken, listAdminTokens, revokeAdminToken } from "./admin-tokens.ts";
import { adminTokenView, issuedAdminTokenView, newAdminTokenBody } from "./schema.ts";

export const adminTokenRoutes: readonly AdminRoute[] = [
  get(
    "/admin-tokens",
    "List admin tokens, without their secrets",
    { answers: listOf(adminTokenView) },
    async ({ deps }) => ({ data: await listAdminTokens(deps) }),
  ),
  post(
    "/admin-tokens",
    "Create an admin token",
    { body: newAdminTokenBody, answers: issuedAdminTokenView },
    async ({ deps, body, caller }) => {
      const token = await createAdminToken(deps, { ...body, createdBy: caller.name });
      return {
        answer: token,
        change: { action: "admin-token.create", target: token.label, detail: token.role },
      };
    },
  ),
  post(
    "/admin-tokens/:token/revoke",
    "Revoke a token permanently",
    { answers: adminTokenView },
    async ({ deps, named }) => {
      const token = await revokeAdminToken(deps, named);
      return { answer: token, change: { action: "admin-token.revoke", target: token.label, detail: null } };
    },
  ),
];
