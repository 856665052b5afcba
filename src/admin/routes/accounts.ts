import { Type } from "@sinclair/typebox";
import { findAccount, listAccountViews, readAccountView } from "../operations/accounts.ts";
import { accountList, accountView } from "../views/keys.ts";
import { type AdminRoute, read } from "./route.ts";

const nothing = Type.Object({}, { additionalProperties: false });

export const accountRoutes: readonly AdminRoute[] = [
  read(
    { path: "/accounts", summary: "List accounts", query: nothing, answers: accountList },
    async ({ deps }) => ({ data: await listAccountViews(deps) }),
  ),
  read(
    { path: "/accounts/:account", summary: "Show an account", query: nothing, answers: accountView },
    async ({ deps, params }) => readAccountView(deps, await findAccount(deps, params["account"] ?? "")),
  ),
];
