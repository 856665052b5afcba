import type { AccountRecord } from "../../store/store.ts";
import type { AdminDeps } from "../deps.ts";
import { capsFromBody, sharedFromBody } from "../key-terms/key-document.ts";
import { adjustBody, topUpBody } from "../key-terms/schema.ts";
import { type AdminCall, type AdminRoute, type ChangeResult, get, patch, post } from "../routes/route.ts";
import { listAccountViews, readAccountView } from "./account-view.ts";
import { type AccountUpdate, closeAccount, createAccount, findAccount, updateAccount } from "./accounts.ts";
import { nano, signedNano } from "./credits.ts";
import { enterAccountCredit, entryOf } from "./enter-credit.ts";
import {
  type AccountChangesBody,
  accountChangesBody,
  accountList,
  accountQuery,
  accountView,
  enteredAccountView,
  newAccountBody,
} from "./schema.ts";

export const accountRoutes: readonly AdminRoute[] = [
  get("/accounts", "List accounts", { query: accountQuery, answers: accountList }, ({ deps, query }) =>
    listAccountViews(deps, query),
  ),
  get("/accounts/:account", "Show an account", { answers: accountView }, async (call) =>
    readAccountView(call.deps, await findAccount(call.deps, call.named)),
  ),
  post("/accounts", "Create an account", { body: newAccountBody, answers: accountView }, async (call) => {
    const { mode, credit } = call.body;
    const creditNano = credit === undefined ? undefined : nano(credit, "credit");
    const spec = { ...updateFrom(call.body), mode, creditNano };
    return applyAndRespond(call, "account.create", await createAccount(call.deps, spec));
  }),
  patch(
    "/accounts/:account",
    "Change an account",
    { body: accountChangesBody, answers: accountView },
    async (call) => {
      const updated = await updateAccount(call.deps, call.named, updateFrom(call.body));
      return applyAndRespond(call, "account.update", updated);
    },
  ),
  post(
    "/accounts/:account/topup",
    "Add credit; on a postpaid account this lowers the amount due",
    { body: topUpBody, answers: enteredAccountView },
    async (call) => {
      const entry = { ...call.body, amountNano: nano(call.body.amount, "amount") };
      const result = await enterAccountCredit(call.deps, call.named, "topup", entry);
      return applyAndRespond(call, "account.topup", result, entryOf(result));
    },
  ),
  post(
    "/accounts/:account/adjust",
    "Correct the balance with a separate ledger entry",
    { body: adjustBody, answers: enteredAccountView },
    async (call) => {
      const entry = { ...call.body, amountNano: signedNano(call.body.amount) };
      const held = (accountId: string) => heldOf(call.deps, accountId);
      const result = await enterAccountCredit(call.deps, call.named, "adjustment", entry, held);
      return applyAndRespond(call, "account.adjust", result, entryOf(result));
    },
  ),
  post(
    "/accounts/:account/close",
    "Close an account permanently: its keys are rejected, its entries stay",
    { answers: accountView },
    async (call) =>
      applyAndRespond(call, "account.close", { account: await closeAccount(call.deps, call.named) }),
  ),
];

function updateFrom(body: AccountChangesBody): AccountUpdate {
  return {
    label: body.label,
    budgetTokens: body.budget_tokens,
    period: body.period,
    isPostpaid: body.postpaid,
    caps: capsFromBody(body.caps),
    keyCaps: capsFromBody(body.key_caps),
    content: body.content,
    ...sharedFromBody(body),
  };
}

/** The summary of any key of an account includes what is reserved on the account. */
async function heldOf({ keys, accounts }: AdminDeps, accountId: string): Promise<number> {
  const key = Array.from(keys.all()).find((each) => each.accountId === accountId);
  return key === undefined ? 0 : ((await accounts.summaries([key.id]))[0]?.held ?? 0);
}

/** Loads the change into memory first, so that the response describes what is in effect. */
async function applyAndRespond(
  call: AdminCall,
  action: string,
  { account, detail = null }: { readonly account: AccountRecord; readonly detail?: string | null },
  more: object = {},
): Promise<ChangeResult> {
  await call.deps.applyChanges();
  const answer = { ...(await readAccountView(call.deps, account)), ...more };
  return { answer, change: { action, target: account.id, detail } };
}
