import { Type } from "@sinclair/typebox";
import { createAdminToken, listAdminTokens, revokeAdminToken } from "../operations/admin-tokens.ts";
import { nothing } from "../views/shapes.ts";
import { adminTokenView, issuedAdminTokenView, newAdminTokenBody } from "../views/system.ts";
import { type AdminRoute, change, read } from "./route.ts";

export const adminTokenRoutes: readonly AdminRoute[] = [
  read(
    {
      path: "/admin-tokens",
      summary: "Tokens of the admin API, without their secrets",
      query: nothing,
      answers: Type.Object({ data: Type.Array(adminTokenView) }),
    },
    async ({ deps }) => ({ data: await listAdminTokens(deps) }),
  ),
  change(
    "POST",
    {
      path: "/admin-tokens",
      summary: "Make a token of the admin API",
      body: newAdminTokenBody,
      answers: issuedAdminTokenView,
    },
    async ({ deps, body }) => {
      const token = await createAdminToken(deps, body);
      return {
        answer: token,
        change: { action: "admin-token.create", target: token.label, detail: token.role },
      };
    },
  ),
  change(
    "POST",
    {
      path: "/admin-tokens/:token/revoke",
      summary: "Revoke a token for good",
      body: nothing,
      answers: adminTokenView,
    },
    async ({ deps, params }) => {
      const token = await revokeAdminToken(deps, params["token"] ?? "");
      return { answer: token, change: { action: "admin-token.revoke", target: token.label, detail: null } };
    },
  ),
];
