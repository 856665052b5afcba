import type { Clock } from "../../base/clock.ts";
import { newId } from "../../base/id.ts";
import type { BudgetPeriod } from "../../base/key-attributes.ts";
import { creditsFromNano } from "../../base/money.ts";
import { nextPeriodStart, periodStart } from "../../base/period.ts";
import type { AccountRecord, AccountStanding, KeyMode, RecordedEntry } from "../../store/store.ts";
import { iso, isoOrNull } from "../iso-time.ts";
import type { AccountView } from "../views.ts";
import { capDocument, capStates } from "./cap-document.ts";
import { capLimits, type WrittenCap } from "./cap-text.ts";
import type { OperationContext } from "./context.ts";
import { checkEntryText } from "./entry-text.ts";
import { OperationRefusal } from "./refusal.ts";

export interface AccountSpec {
  readonly mode: KeyMode;
  readonly label?: string | null | undefined;
  readonly creditNano?: number | undefined;
  readonly budgetTokens?: number | null | undefined;
  readonly period?: BudgetPeriod | undefined;
  readonly isOpen?: boolean | undefined;
  readonly caps?: readonly WrittenCap[] | undefined;
  readonly keyCaps?: readonly WrittenCap[] | undefined;
}

export type AccountUpdate = Omit<AccountSpec, "mode" | "creditNano">;

export async function createAccount(context: OperationContext, spec: AccountSpec): Promise<AccountRecord> {
  const { store, clock } = context;
  checkTerms(spec.mode, spec);
  if (spec.mode === "token_budget" && spec.creditNano !== undefined) {
    throw new OperationRefusal("invalid_input", "a token budget has no credit; give it a budget instead");
  }
  const account: AccountRecord = {
    id: newId("acc_"),
    mode: spec.mode,
    label: spec.label ?? null,
    isOpen: spec.isOpen ?? false,
    closedAtMs: null,
    budgetTokens: spec.budgetTokens ?? null,
    period: spec.period ?? (spec.mode === "token_budget" ? "month" : "none"),
    createdAtMs: clock.wallMs(),
    caps: capLimits(spec.caps ?? [], spec.mode).map((cap) => ({ ...cap, no: 0, extra: 0, extraPeriodMs: 0 })),
    keyCaps: capLimits(spec.keyCaps ?? [], spec.mode),
  };
  await store.insertAccount(account, spec.creditNano ?? 0);
  return account;
}

function checkTerms(mode: KeyMode, { budgetTokens, period, label }: AccountUpdate): void {
  if (mode === "credit" && (budgetTokens != null || (period !== undefined && period !== "none"))) {
    throw new OperationRefusal(
      "invalid_input",
      "a credit account has no token budget; give it credit instead",
    );
  }
  checkEntryText(label ?? undefined);
}

/** By its id, or by its label where that fits one alone. */
export async function findAccount({ store }: OperationContext, name: string): Promise<AccountRecord> {
  const exact = await store.findAccount(name);
  if (exact !== null) return exact;
  const [only, ...others] = (await allAccounts(store)).filter(({ label }) => label === name);
  if (only !== undefined && others.length === 0) return only;
  const why = only === undefined ? `there is no account "${name}"` : `"${name}" fits several accounts`;
  throw new OperationRefusal("unknown_account", `${why}; list them to see their ids`);
}

export async function updateAccount(
  context: OperationContext,
  name: string,
  { caps, keyCaps, ...terms }: AccountUpdate,
): Promise<AccountRecord> {
  const { store, clock } = context;
  const { id, mode } = await findAccount(context, name);
  checkTerms(mode, terms);
  const given = Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined));
  const changes = { ...given, ...(keyCaps && { keyCaps: capLimits(keyCaps, mode) }) };
  if (Object.keys(changes).length === 0 && caps === undefined) {
    throw new OperationRefusal("invalid_input", "nothing to change was named");
  }
  if (caps !== undefined) await store.setCaps({ accountId: id }, capLimits(caps, mode), clock.wallMs());
  if (Object.keys(changes).length > 0) await store.updateAccount(id, changes);
  return findAccount(context, id);
}

/** Its keys are refused from now on; its entries stay. */
export async function closeAccount(context: OperationContext, name: string): Promise<AccountRecord> {
  const { id } = await findAccount(context, name);
  return context.store.updateAccount(id, { closedAtMs: context.clock.wallMs() });
}

export interface AccountEntry {
  readonly amountNano: number;
  readonly reference?: string | undefined;
  readonly note?: string | undefined;
}

/** A top-up, or a correction in either direction. */
export async function enterCredit(
  context: OperationContext,
  name: string,
  kind: "topup" | "adjustment",
  { amountNano, reference, note }: AccountEntry,
): Promise<RecordedEntry & { readonly account: AccountRecord }> {
  const { store, clock } = context;
  const account = await findAccount(context, name);
  checkEntryText(reference, note);
  const entry = {
    keyId: null,
    accountId: account.id,
    amountNano,
    reference: reference ?? null,
    note: note ?? null,
    atMs: clock.wallMs(),
  };
  const recorded = kind === "topup" ? await store.recordTopUp(entry) : await store.recordAdjustment(entry);
  return { ...recorded, account };
}

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
  const accounts = await allAccounts(context.store);
  const standings = await context.store.readAccounts(accounts.map(({ id }) => id));
  return standings.map((standing, index) =>
    accountView(accounts[index] as AccountRecord, standing, context.clock),
  );
}

const pageSize = 500;

async function allAccounts(store: OperationContext["store"]): Promise<AccountRecord[]> {
  const accounts: AccountRecord[] = [];
  for (;;) {
    const page = await store.listAccounts({ limit: pageSize, after: accounts.at(-1)?.id });
    accounts.push(...page);
    if (page.length < pageSize) return accounts;
  }
}

function accountView(account: AccountRecord, standing: AccountStanding, clock: Clock): AccountView {
  const { mode, period, budgetTokens } = account;
  const { totals, keys, caps } = standing;
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
    credit:
      mode === "credit"
        ? {
            purchased: creditsFromNano(totals.purchased),
            used: creditsFromNano(totals.used),
            balance: creditsFromNano(totals.posted),
          }
        : null,
    budget:
      mode === "credit"
        ? null
        : {
            tokens: budgetTokens,
            period,
            used,
            remaining: budgetTokens === null ? null : Math.max(0, budgetTokens - used),
            resets_at: isoOrNull(nextPeriodStart(period, nowMs)),
          },
    caps: capStates(account.caps, caps, "account_cap", nowMs).map((cap) => capDocument(cap, mode)),
    key_caps: account.keyCaps.map(({ limit, ...rest }) => ({
      limit: mode === "credit" ? creditsFromNano(limit) : limit,
      period: rest.period,
      models: rest.models,
    })),
    keys: keys.map((key) => ({
      id: key.id,
      prefix: key.prefix,
      label: key.label,
      owner: key.owner,
      caps: capStates(key.caps, caps, "key_cap", nowMs).map((cap) => capDocument(cap, mode)),
    })),
  };
}
