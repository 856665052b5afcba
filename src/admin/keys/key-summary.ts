import { dateOfDay, utcDay } from "../../base/clock.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import type { AccountSummary, BoundState } from "../../ledger/accounts.ts";
import type { KeyRecord } from "../../store/store.ts";
import { personOf } from "../access/identity.ts";
import type { OperationContext } from "../context.ts";
import { capDocument, creditDocument } from "../key-terms/cap-document.ts";
import { attributeDocument } from "../key-terms/key-document.ts";
import type { KeyView, ListedKeyView } from "../key-terms/schema.ts";
import { iso, isoOrNull } from "../moments.ts";

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
  signIn: string | null,
): Omit<KeyView, "reserved" | "value_caps" | "last_used_on"> {
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
    postpaid: key.isPostpaid,
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
    sign_in: signIn,
  };
}

/** The person whose sign-in each key ends with. */
export async function readSignIns(
  { store }: Pick<OperationContext, "store">,
  keys: readonly KeyRecord[],
): Promise<(key: KeyRecord) => string | null> {
  const bound = await store.admin.devices.findBoundKeys(keys.map(({ id }) => id));
  const signIns = new Map(bound.map(({ keyId, identity }) => [keyId, personOf(identity).user]));
  return ({ id }) => signIns.get(id) ?? null;
}

/** Adds the last day with a request, from the totals of reports. */
export async function withLastUse<Key extends Pick<KeyView, "id">>(
  { store }: Pick<OperationContext, "store">,
  keys: readonly Key[],
): Promise<(Key & Pick<ListedKeyView, "last_used_on">)[]> {
  const days = await store.reports.keyLastDays(keys.map(({ id }) => id));
  return keys.map((key) => {
    const day = days.get(key.id);
    return { ...key, last_used_on: day === undefined ? null : dateOfDay(day) };
  });
}

const sparkDays = 14;

export async function withRecentDays<Key extends Pick<KeyView, "id" | "mode">>(
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
