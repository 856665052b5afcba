import { newId } from "../../base/id.ts";
import type { BudgetPeriod } from "../../base/key-attributes.ts";
import type { TpmLimit } from "../../base/models/tpm-limit.ts";
import type { ContentLevel } from "../../base/requests/content-level.ts";
import type { Tags } from "../../base/requests/labels.ts";
import type { AccountRecord, KeyMode } from "../../store/store.ts";
import { invalidInput, type OperationContext, OperationError, shownName } from "../context.ts";
import { capLimits, type WrittenCap } from "../key-terms/cap-text.ts";
import { accountCreationDetail, accountUpdateDetail } from "../key-terms/change-detail.ts";
import { checkKeyFields } from "../key-terms/key-fields.ts";

export interface AccountSpec {
  readonly mode: KeyMode;
  readonly label?: string | null | undefined;
  readonly creditNano?: number | undefined;
  readonly budgetTokens?: number | null | undefined;
  readonly period?: BudgetPeriod | undefined;
  readonly isPostpaid?: boolean | undefined;
  readonly caps?: readonly WrittenCap[] | undefined;
  readonly keyCaps?: readonly WrittenCap[] | undefined;
  readonly content?: ContentLevel | null | undefined;
  readonly tags?: Tags | null | undefined;
  readonly tpmLimits?: readonly TpmLimit[] | null | undefined;
}

export type AccountUpdate = Omit<AccountSpec, "mode" | "creditNano">;

export interface ChangedAccount {
  readonly account: AccountRecord;
  /** For the audit log. */
  readonly detail: string;
}

export async function createAccount(context: OperationContext, spec: AccountSpec): Promise<ChangedAccount> {
  const { store, clock } = context;
  const { mode, creditNano } = spec;
  const account: AccountRecord = {
    id: newId("acc_"),
    mode,
    label: spec.label ?? null,
    isPostpaid: spec.isPostpaid ?? false,
    closedAtMs: null,
    budgetTokens: spec.budgetTokens ?? null,
    period: spec.period ?? (mode === "token_budget" ? "month" : "none"),
    createdAtMs: clock.wallMs(),
    caps: capLimits(spec.caps ?? [], mode).map((cap) => ({ ...cap, no: 0, extra: 0, extraPeriodMs: 0 })),
    keyCaps: capLimits(spec.keyCaps ?? [], mode),
    content: spec.content ?? null,
    tags: spec.tags ?? null,
    tpmLimits: spec.tpmLimits ?? null,
  };
  checkTerms(context, account);
  await rejectTakenLabel(context, account);
  if (mode === "token_budget" && creditNano !== undefined) {
    throw invalidInput("a token-budget account has no credit; set a budget instead");
  }
  await store.insertAccount(account, creditNano ?? 0);
  return { account, detail: accountCreationDetail(account, creditNano ?? 0) };
}

function checkTerms({ clock }: OperationContext, account: AccountRecord): void {
  const { mode, isPostpaid, budgetTokens, period, label, content, tags, tpmLimits } = account;
  if (mode === "credit" && (budgetTokens !== null || period !== "none")) {
    const why = "a credit account has no token budget; set credit instead";
    throw invalidInput(why);
  }
  if (mode === "token_budget" && isPostpaid) {
    const why = "only credit accounts can be postpaid; a token budget without a limit is never used up";
    throw invalidInput(why);
  }
  checkKeyFields({ label, budgetTokens, period, content, tags, tpmLimits }, clock.wallMs());
}

/** Finds an account by its id, or by its label if only one account has that label. */
export async function findAccount({ store }: OperationContext, name: string): Promise<AccountRecord> {
  const exact = await store.findAccount(name);
  if (exact !== null) return exact;
  const [only, ...others] = await store.accountsLabelled(name);
  if (only !== undefined && others.length === 0) return only;
  const why =
    only === undefined ? `account "${shownName(name)}" does not exist` : `"${name}" matches several accounts`;
  throw new OperationError("unknown_account", `${why}; run \`sluice accounts list\` to see their ids`);
}

/** Changes only the fields that are set. */
export async function updateAccount(
  context: OperationContext,
  name: string,
  { caps, keyCaps, ...terms }: AccountUpdate,
): Promise<ChangedAccount> {
  const { store, clock } = context;
  const before = await findAccount(context, name);
  const { id, mode } = before;
  const definedTerms = Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined));
  const changes = { ...definedTerms, ...(keyCaps && { keyCaps: capLimits(keyCaps, mode) }) };
  if (Object.keys(changes).length === 0 && caps === undefined) {
    throw invalidInput("nothing to change");
  }
  checkTerms(context, { ...before, ...changes });
  await rejectTakenLabel(context, { ...before, ...changes });
  const limits = caps && capLimits(caps, mode);
  if (Object.keys(changes).length > 0) await store.updateAccount(id, changes);
  if (limits !== undefined) await store.setCaps({ accountId: id }, limits, clock.wallMs());
  const account = await findAccount(context, id);
  return { account, detail: accountUpdateDetail(before, account) };
}

/** Commands and the configuration name accounts by their labels, so two cannot have the same one. */
async function rejectTakenLabel({ store }: OperationContext, { id, label }: AccountRecord): Promise<void> {
  if (label === null) return;
  if (label.trim() === "") throw invalidInput("a label needs at least one character");
  const taken = (await store.accountsLabelled(label)).find((other) => other.id !== id);
  if (taken === undefined) return;
  throw invalidInput(`account ${taken.id} already has the label "${label}"; choose another`);
}

/** Closes an account. Its keys are rejected from now on; its ledger entries stay. */
export async function closeAccount(context: OperationContext, name: string): Promise<AccountRecord> {
  const account = await findAccount(context, name);
  if (account.closedAtMs !== null) return account;
  return context.store.updateAccount(account.id, { closedAtMs: context.clock.wallMs() });
}

const pageSize = 500;

/** `after`: only those behind this one. */
export async function allAccounts(
  store: OperationContext["store"],
  after?: string,
): Promise<AccountRecord[]> {
  const accounts: AccountRecord[] = [];
  for (;;) {
    const page = await store.listAccounts({ limit: pageSize, after: accounts.at(-1)?.id ?? after });
    accounts.push(...page);
    if (page.length < pageSize) return accounts;
  }
}
