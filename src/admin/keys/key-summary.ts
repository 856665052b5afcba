import { assert } from "../../base/assert.ts";
import { dateOfDay, utcDay } from "../../base/clock.ts";
import { budgetUsedFrom } from "../../base/money/later-use.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { nextPeriodStart, periodStart } from "../../base/money/period.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import type { AccountSummary, BoundState } from "../../ledger/accounts.ts";
import { emptyAccount, emptyKey, type KeyRecord } from "../../store/store.ts";
import type { PersonIdentity } from "../auth/identity.ts";
import type { OperationContext } from "../context.ts";
import { iso, isoOrNull } from "../moments.ts";
import { capDocument, creditDocument, readCaps } from "./cap-document.ts";
import { keyPages } from "./find-key.ts";
import { attributeDocument } from "./key-document.ts";
import type { KeyView, ListedKeyView } from "./schema.ts";

/**
 * A key with its derived status and its account, never its hash. The admin API, the dashboard and `--json` share these fields.
 * Only a running gateway knows what is reserved: null from a command.
 */
export type KeySummary = Omit<KeyView, "reserved"> & { readonly reserved: number | null };

/** Facts that are stored neither with the key nor with its account. */
interface KeyActivity {
  readonly lastUsedDay: number | null;
  readonly signIn: string | null;
}

type KeyAccount = Pick<
  AccountSummary,
  | "purchased"
  | "used"
  | "posted"
  | "budgetTokens"
  | "budgetUsed"
  | "budgetRemaining"
  | "periodEndsMs"
  | "caps"
  | "lifetimeSpend"
  | "requests"
  | "inputTokens"
  | "outputTokens"
>;

export function summarizeKey(
  key: KeyRecord,
  account: KeyAccount,
  nowMs: number,
  { lastUsedDay, signIn }: KeyActivity,
): Omit<KeyView, "reserved"> {
  const isCredit = key.mode === "credit";
  const capsOf = (whose: BoundState["bound"]) =>
    account.caps.filter(({ bound }) => bound === whose).map((cap) => capDocument(cap, key.mode));
  const graceLasts = key.previousUntilMs !== null && key.previousUntilMs > nowMs;
  return {
    id: key.id,
    account: key.accountId,
    prefix: key.prefix,
    mode: key.mode,
    status: effectiveStatus(key, nowMs),
    ...attributeDocument(key),
    created_at: iso(key.createdAtMs),
    previous_secret_until: graceLasts ? isoOrNull(key.previousUntilMs) : null,
    caps: capsOf("key_cap"),
    postpaid: key.isOpen,
    account_status: key.isClosed ? "closed" : "active",
    account_caps: capsOf("account_cap"),
    credit: isCredit ? creditDocument(account) : null,
    budget: isCredit
      ? null
      : {
          tokens: account.budgetTokens,
          period: key.period,
          used: account.budgetUsed,
          remaining: account.budgetRemaining,
          resets_at: isoOrNull(account.periodEndsMs),
        },
    lifetime_spend: creditsFromNano(account.lifetimeSpend),
    recorded_requests: account.requests,
    input_tokens: account.inputTokens,
    output_tokens: account.outputTokens,
    last_used_on: lastUsedDay === null ? null : dateOfDay(lastUsedDay),
    sign_in: signIn,
  };
}

/** Summarizes a key from the store, for callers that have no ledger in memory. */
export async function readKeySummary(context: OperationContext, key: KeyRecord): Promise<KeySummary> {
  const [summary] = await readKeySummaries(context, [key]);
  assert(summary !== undefined, "every key has a summary");
  return summary;
}

export async function readKeySummaries(
  context: OperationContext,
  keys: readonly KeyRecord[],
): Promise<KeySummary[]> {
  const activityOf = await readActivity(context, keys);
  return Array.fromAsync(keys, (key) => summaryFrom(context, key, activityOf(key)));
}

export async function readActivity(
  { store }: Pick<OperationContext, "store">,
  keys: readonly KeyRecord[],
): Promise<(key: KeyRecord) => KeyActivity> {
  const ids = keys.map(({ id }) => id);
  const lastDays = await store.reports.keyLastDays(ids);
  const bound = await store.admin.devices.findBoundKeys(ids);
  const signIns = new Map(
    bound.map(({ keyId, identity }) => [keyId, (JSON.parse(identity) as PersonIdentity).user]),
  );
  return ({ id }) => ({ lastUsedDay: lastDays.get(id) ?? null, signIn: signIns.get(id) ?? null });
}

async function summaryFrom(
  { store, clock }: OperationContext,
  key: KeyRecord,
  activity: KeyActivity,
): Promise<KeySummary> {
  const totals = (await store.readTotals(key.id)) ?? { ...emptyAccount(key.accountId), ...emptyKey(key.id) };
  const nowMs = clock.wallMs();
  const budgetUsed = budgetUsedFrom(totals, periodStart(key.period, nowMs));
  const account = {
    ...totals,
    caps: await readCaps(store, key, nowMs),
    lifetimeSpend: key.mode === "credit" ? totals.spent : 0,
    budgetTokens: key.budgetTokens,
    budgetUsed,
    budgetRemaining: key.budgetTokens === null ? null : Math.max(0, key.budgetTokens - budgetUsed),
    periodEndsMs: nextPeriodStart(key.period, nowMs),
  };
  return { ...summarizeKey(key, account, nowMs, activity), reserved: null };
}

/** A key in a list, with its recent spending. */
export type ListedKey = KeySummary & Pick<ListedKeyView, "recent">;

export async function listKeys(context: OperationContext, search?: string): Promise<ListedKey[]> {
  const pages = keyPages(context.store, search);
  const listed = async (keys: readonly KeyRecord[]) =>
    withRecentDays(context, await readKeySummaries(context, keys));
  return (await Array.fromAsync(pages, listed)).flat();
}

const sparkDays = 14;

export async function withRecentDays<Key extends Pick<KeySummary, "id" | "mode">>(
  { store, clock }: OperationContext,
  keys: readonly Key[],
): Promise<(Key & Pick<ListedKeyView, "recent">)[]> {
  const today = utcDay(clock.wallMs());
  const firstDay = today - sparkDays + 1;
  const ids = keys.map(({ id }) => id);
  const days = ids.length === 0 ? [] : await store.reports.keyDays(ids, firstDay, today);
  const spent = new Map(days.map((day) => [`${day.keyId} ${day.day}`, day]));
  return keys.map((key) => {
    const recent = Array.from({ length: sparkDays }, (_, index) => {
      const day = spent.get(`${key.id} ${firstDay + index}`);
      return key.mode === "credit" ? creditsFromNano(day?.spendNano ?? 0) : (day?.spendTokens ?? 0);
    });
    return { ...key, recent };
  });
}
