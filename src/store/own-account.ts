import type { AccountRecord, KeyRecord } from "./records.ts";

/** The account that is made with a key, for that key alone. */
export function ownAccountOf(key: KeyRecord): AccountRecord {
  const { accountId: id, mode, isOpen, budgetTokens, period, createdAtMs } = key;
  return {
    id,
    mode,
    label: null,
    isOpen,
    closedAtMs: null,
    budgetTokens,
    period,
    createdAtMs,
    caps: [],
    keyCaps: [],
  };
}
