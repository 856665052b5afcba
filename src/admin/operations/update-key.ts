import { attributesOf, type KeyUpdate } from "../../base/key-attributes.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";
import { updateDetail } from "./key-change-detail.ts";
import { checkKeyFields } from "./key-fields.ts";
import { type KnownNames, refuseUnknownNames } from "./known-names.ts";
import { OperationRefusal } from "./refusal.ts";

export interface UpdatedKey {
  readonly key: KeyRecord;
  /** For the audit log. */
  readonly detail: string;
}

/** Changes only what is given; null removes a limit, and a new expiry reactivates an expired key. */
export async function updateKey(
  context: OperationContext,
  idOrPrefix: string,
  update: KeyUpdate,
  known: KnownNames | null = null,
): Promise<UpdatedKey> {
  const key = await findKey(context, idOrPrefix);
  if (key.status === "revoked") {
    throw new OperationRefusal(
      "wrong_status",
      `${key.prefix} is revoked, and stays so; create a new key instead`,
    );
  }
  if (key.mode === "credit" && (update.budgetTokens != null || update.period !== undefined)) {
    throw new OperationRefusal(
      "invalid_input",
      `${key.prefix} is a credit key: it has no token budget; top it up`,
    );
  }
  checkKeyFields(update, context.clock.wallMs());
  if (known !== null) refuseUnknownNames(update, known, key);
  const changes = attributesOf(update);
  if (Object.keys(changes).length === 0) {
    throw new OperationRefusal("invalid_input", "nothing to change was named");
  }
  const updated = await context.store.updateKey(key.id, changes);
  return { key: updated, detail: updateDetail(key, updated) };
}
