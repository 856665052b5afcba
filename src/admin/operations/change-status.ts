import { mayBecome } from "../../keys/status.ts";
import type { KeyRecord, StoredKeyStatus } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";
import { OperationRefusal } from "./refusal.ts";

interface StatusChange {
  readonly key: KeyRecord;
  /** False if the key had that status already. */
  readonly changed: boolean;
}

/** Disables, enables, suspends or revokes a key, where the transition is allowed. */
export async function changeStatus(
  context: OperationContext,
  idOrPrefix: string,
  status: StoredKeyStatus,
): Promise<StatusChange> {
  const key = await findKey(context, idOrPrefix);
  if (key.status === status) return { key, changed: false };
  if (!mayBecome(key.status, status)) {
    throw new OperationRefusal(
      "wrong_status",
      key.status === "revoked"
        ? `${key.prefix} is revoked, and stays so; create a new key instead`
        : `${key.prefix} is ${key.status}; enable it before it can be ${status}`,
    );
  }
  return { key: await context.store.updateKey(key.id, { status }), changed: true };
}
