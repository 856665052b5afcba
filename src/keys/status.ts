import type { KeyRecord, StoredKeyStatus } from "../store/store.ts";

export type KeyStatus = StoredKeyStatus | "expired";

/**
 * Expiry is derived from the clock and never stored, so a new expiry date revives the key. Keys of a closed account
 * count as disabled.
 */
export function effectiveStatus(key: KeyRecord, nowMs: number): KeyStatus {
  if (key.isClosed && key.status === "active") return "disabled";
  const hasExpired = key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  return key.status === "active" && hasExpired ? "expired" : key.status;
}

const reachable: Readonly<Record<StoredKeyStatus, readonly StoredKeyStatus[]>> = {
  active: ["disabled", "suspended", "revoked"],
  disabled: ["active", "revoked"],
  suspended: ["active", "revoked"],
  revoked: [],
};

/** Whether an operator may change a key from one status to another. Keeping it is always allowed; revoked is final. */
export function mayBecome(from: StoredKeyStatus, to: StoredKeyStatus): boolean {
  return from === to || reachable[from].includes(to);
}
