import type { KeyChanges, KeyRecord } from "./records.ts";
import { StoreRefusal } from "./store.ts";

/**
 * A key with changes, in the transaction that writes it. Revoking is final here too: whoever changes the status has read it
 * before, and somebody may have revoked the key meanwhile.
 */
export function changedKey(key: KeyRecord, changes: KeyChanges): KeyRecord {
  const changed = { ...key, ...changes };
  if (key.status === "revoked" && changed.status !== "revoked") {
    throw new StoreRefusal("revoked", `${key.prefix} is revoked, and stays so; create a new key instead.`);
  }
  return changed;
}
