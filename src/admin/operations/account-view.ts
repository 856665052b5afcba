import type { Clock } from "../../base/clock.ts";
import { creditsFromNano } from "../../base/money.ts";
import { nextPeriodStart, periodStart } from "../../base/period.ts";
import { effectiveStatus } from "../../keys/status.ts";
import type { AccountRecord, AccountStanding } from "../../store/store.ts";
import { type AccountView, iso } from "../views.ts";
import { allAccounts } from "./accounts.ts";
import { budgetDocument, byNumber, capDocument, capStates, creditDocument } from "./cap-document.ts";
import { type OperationContext, OperationRefusal } from "./context.ts";

export async function readAccountView(
  context: OperationContext,
  account: AccountRecord,
): Promise<AccountView> {
  const [standing] = await context.store.readAccounts([account.id]);
  if (standing === undefined)
    throw new OperationRefusal("unknown_account", `there is no account ${account.id}`);
  return accountView(account, standing, context.clock);
}

export async function listAccountViews(context: OperationContext): Promise<AccountView[]> {
  return viewAccounts(context, await allAccounts(context.store));
}

export async function viewAccounts(
  context: OperationContext,
  accounts: readonly AccountRecord[],
  withKeys = true,
): Promise<AccountView[]> {
  const ids = accounts.map(({ id }) => id);
  const standings = await context.store.readAccounts(ids, withKeys);
  return standings.map((standing, index) =>
    accountView(accounts[index] as AccountRecord, standing, context.clock),
  );
}

function accountView(account: AccountRecord, standing: AccountStanding, clock: Clock): AccountView {
  const { mode, period } = account;
  const { totals, keys } = standing;
  const counted = byNumber(standing.caps);
  const nowMs = clock.wallMs();
  const isCurrent = totals.periodStartMs >= periodStart(period, nowMs);
  const used = isCurrent ? totals.periodUsed : 0;
  return {
    id: account.id,
    mode,
    label: account.label,
    open: account.isOpen,
    status: account.closedAtMs === null ? "active" : "closed",
    created_at: iso(account.createdAtMs),
    credit: mode === "credit" ? creditDocument(totals) : null,
    budget: mode === "credit" ? null : budgetDocument(account, used, nextPeriodStart(period, nowMs)),
    caps: capStates(account.caps, counted, "account_cap", nowMs).map((cap) => capDocument(cap, mode)),
    key_caps: account.keyCaps.map(({ limit, ...rest }) => ({
      limit: mode === "credit" ? creditsFromNano(limit) : limit,
      period: rest.period,
      models: rest.models,
    })),
    content: account.content,
    keys: keys.map((key) => ({
      id: key.id,
      prefix: key.prefix,
      label: key.label,
      owner: key.owner,
      status: effectiveStatus(key, nowMs),
      caps: capStates(key.caps, counted, "key_cap", nowMs).map((cap) => capDocument(cap, mode)),
    })),
  };
}
