import type { AccountRecord, KeyRecord } from "../store/store.ts";

/** Whether a key's record shows its account as it is. */
export function hasTermsOf(key: KeyRecord, account: AccountRecord): boolean {
  return (
    key.isOpen === account.isOpen &&
    key.isClosed === (account.closedAtMs !== null) &&
    key.budgetTokens === account.budgetTokens &&
    key.period === account.period &&
    key.accountContent === account.content &&
    key.accountTags === account.tags &&
    key.accountTpmLimits === account.tpmLimits
  );
}

export function withTermsOf(key: KeyRecord, account: AccountRecord): KeyRecord {
  const { isOpen, closedAtMs, budgetTokens, period, content, tags, tpmLimits } = account;
  const terms = { isOpen, isClosed: closedAtMs !== null, budgetTokens, period };
  return { ...key, ...terms, accountContent: content, accountTags: tags, accountTpmLimits: tpmLimits };
}
