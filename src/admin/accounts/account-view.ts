import type { Clock } from "../../base/clock.ts";
import { nextLoopIteration } from "../../base/loop/pacer.ts";
import { budgetUsedIn } from "../../base/money/later-use.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { nextPeriodStart, periodStart } from "../../base/money/period.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import type { AccountKeys, AccountRecord, AccountStanding } from "../../store/store.ts";
import { type OperationContext, OperationError } from "../context.ts";
import { capsOfAccounts } from "../key-terms/bound-caps.ts";
import {
  budgetDocument,
  byNumber,
  capDocument,
  capStates,
  creditDocument,
} from "../key-terms/cap-document.ts";
import { iso } from "../moments.ts";
import { allAccounts } from "./accounts.ts";
import type { AccountList, AccountView } from "./schema.ts";

const accountsPerRead = 25;
/** Keys that are read with each account, in one statement. If an account has more, they are read in pages of about 2 ms. */
const keysWithAccount = 5;
const keysPerRead = 100;

export async function readAccountView(
  context: OperationContext,
  account: AccountRecord,
): Promise<AccountView> {
  const [view] = await viewAccounts(context, [account]);
  if (view === undefined) throw new OperationError("unknown_account", `account ${account.id} does not exist`);
  return view;
}

/** Without a limit, all of them. */
export async function listAccountViews(
  context: OperationContext,
  { limit, cursor }: { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
): Promise<AccountList> {
  const found =
    limit === undefined
      ? await allAccounts(context.store, cursor)
      : await context.store.listAccounts({ limit: limit + 1, after: cursor });
  const page = limit === undefined ? found : found.slice(0, limit);
  const last = found.length > page.length ? page.at(-1) : undefined;
  return { data: await viewAccounts(context, page), next_cursor: last?.id ?? null };
}

/** Reads the accounts in batches, and only some keys of each, because an account can have ten thousand. */
export async function viewAccounts(
  context: OperationContext,
  accounts: readonly AccountRecord[],
  withKeys = true,
): Promise<AccountView[]> {
  const { store, clock } = context;
  const views: AccountView[] = [];
  for (let first = 0; first < accounts.length; first += accountsPerRead) {
    const some = accounts.slice(first, first + accountsPerRead);
    const ids = some.map(({ id }) => id);
    const states = await store.readAccounts(ids, withKeys ? keysWithAccount : 0);
    const valueCaps = withKeys ? await capsOfAccounts(context, some) : [];
    for (const [place, state] of states.entries()) {
      // The store returns one state per requested account, in the same order.
      const account = some[place] as AccountRecord;
      const isLong = withKeys && state.hasMoreKeys;
      const keys = isLong ? await keyViews(context, account) : keyPage(state, account, clock);
      views.push({ ...accountView(account, state, clock), value_caps: valueCaps[place] ?? [], keys });
    }
    await nextLoopIteration();
  }
  return views;
}

async function keyViews({ store, clock }: OperationContext, account: AccountRecord): Promise<KeyOfAccount[]> {
  const views: KeyOfAccount[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: AccountKeys = await store.accountKeys(account.id, after, keysPerRead);
    views.push(...keyPage(page, account, clock));
    after = page.next;
    if (after !== null) await nextLoopIteration();
  }
  return views;
}

function keyPage(
  { keys, caps }: Pick<AccountKeys, "keys" | "caps">,
  { mode }: AccountRecord,
  clock: Clock,
): KeyOfAccount[] {
  const counted = byNumber(caps);
  const nowMs = clock.wallMs();
  return keys.map((key) => {
    const { id, prefix, label, owner } = key;
    const states = capStates(key.caps, counted, "key_cap", nowMs).map((cap) => capDocument(cap, mode));
    return { id, prefix, label, owner, status: effectiveStatus(key, nowMs), caps: states };
  });
}

type KeyOfAccount = AccountView["keys"][number];

function accountView(
  account: AccountRecord,
  state: AccountStanding,
  clock: Clock,
): Omit<AccountView, "keys" | "value_caps"> {
  const { mode, period } = account;
  const { totals } = state;
  const counted = byNumber(state.caps);
  const nowMs = clock.wallMs();
  const used = budgetUsedIn(totals, periodStart(period, nowMs));
  return {
    id: account.id,
    mode,
    label: account.label,
    postpaid: account.isPostpaid,
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
    tags: account.tags,
    tpm_limits: account.tpmLimits && [...account.tpmLimits],
  };
}
