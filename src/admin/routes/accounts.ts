import type { AccountRecord } from "../../store/store.ts";
import type { AdminDeps } from "../deps.ts";
import { listAccountViews, readAccountView } from "../operations/account-view.ts";
import {
  type AccountUpdate,
  closeAccount,
  createAccount,
  findAccount,
  updateAccount,
} from "../operations/accounts.ts";
import { enterAccountCredit } from "../operations/enter-credit.ts";
import { capsFromBody } from "../operations/key-document.ts";
import {
  type AccountChangesBody,
  accountChangesBody,
  accountList,
  accountView,
  newAccountBody,
} from "../views/accounts.ts";
import { adjustBody, topUpBody, withRepeated } from "../views/keys.ts";
import { nothing } from "../views/shapes.ts";
import { nano, repeating, signedNano } from "./credits.ts";
import { type AdminCall, type AdminRoute, type Changed, change, read } from "./route.ts";

export const accountRoutes: readonly AdminRoute[] = [
  read(
    { path: "/accounts", summary: "List accounts", query: nothing, answers: accountList },
    async ({ deps }) => ({ data: await listAccountViews(deps) }),
  ),
  read(
    { path: "/accounts/:account", summary: "Show an account", query: nothing, answers: accountView },
    async (call) => readAccountView(call.deps, await findAccount(call.deps, accountName(call))),
  ),
  change(
    "POST",
    { path: "/accounts", summary: "Create an account", body: newAccountBody, answers: accountView },
    async (call) => {
      const { mode, credit } = call.body;
      const creditNano = credit === undefined ? undefined : nano(credit, "credit");
      const spec = { ...updateFrom(call.body), mode, creditNano };
      const { account, detail } = await createAccount(call.deps, spec);
      return changed(call, account, "account.create", detail);
    },
  ),
  change(
    "PATCH",
    {
      path: "/accounts/:account",
      summary: "Change an account",
      body: accountChangesBody,
      answers: accountView,
    },
    async (call) => {
      const { account, detail } = await updateAccount(call.deps, accountName(call), updateFrom(call.body));
      return changed(call, account, "account.update", detail);
    },
  ),
  change(
    "POST",
    {
      path: "/accounts/:account/topup",
      summary: "Add credit; on an open account it lowers what is owed",
      body: topUpBody,
      answers: withRepeated(accountView),
    },
    async (call) => {
      const entry = { ...call.body, amountNano: nano(call.body.amount, "amount") };
      const entered = await enterAccountCredit(call.deps, accountName(call), "topup", entry);
      return repeating(
        await changed(call, entered.account, "account.topup", entered.detail),
        entered.repeated,
      );
    },
  ),
  change(
    "POST",
    {
      path: "/accounts/:account/adjust",
      summary: "Correct the balance by an entry of its own",
      body: adjustBody,
      answers: withRepeated(accountView),
    },
    async (call) => {
      const entry = { ...call.body, amountNano: signedNano(call.body.amount) };
      const held = (accountId: string) => heldOf(call.deps, accountId);
      const entered = await enterAccountCredit(call.deps, accountName(call), "adjustment", entry, held);
      return repeating(
        await changed(call, entered.account, "account.adjust", entered.detail),
        entered.repeated,
      );
    },
  ),
  change(
    "POST",
    {
      path: "/accounts/:account/close",
      summary: "Close an account for good: its keys are refused, its entries stay",
      body: nothing,
      answers: accountView,
    },
    async (call) => changed(call, await closeAccount(call.deps, accountName(call)), "account.close", null),
  ),
];

function accountName(call: AdminCall): string {
  return call.params["account"] ?? "";
}

function updateFrom(body: AccountChangesBody): AccountUpdate {
  return {
    label: body.label,
    budgetTokens: body.budget_tokens,
    period: body.period,
    isOpen: body.open,
    caps: capsFromBody(body.caps),
    keyCaps: capsFromBody(body.key_caps),
  };
}

/** Every key that draws on an account tells what is held of it. */
async function heldOf({ keys, accounts }: AdminDeps, accountId: string): Promise<number> {
  const key = Array.from(keys.all()).find((one) => one.accountId === accountId);
  return key === undefined ? 0 : ((await accounts.summaries([key.id]))[0]?.held ?? 0);
}

/** Loads the change into memory before the answer says that it is done. */
async function changed(
  call: AdminCall,
  account: AccountRecord,
  action: string,
  detail: string | null,
): Promise<Changed> {
  await call.deps.applyChanges();
  const answer = await readAccountView(call.deps, account);
  return { answer, change: { action, target: account.id, detail } };
}
