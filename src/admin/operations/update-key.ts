import { attributesOf, type KeyUpdate } from "../../base/key-attributes.ts";
import { ownAccountId } from "../../base/own-account.ts";
import type { KeyRecord } from "../../store/store.ts";
import { capLimits, type WrittenCap } from "./cap-text.ts";
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

/**
 * Changes only what is given; null removes a limit, and a new expiry reactivates an expired key. Caps take the place of all
 * that the key has.
 */
export async function updateKey(
  context: OperationContext,
  idOrPrefix: string,
  { caps, ...update }: KeyUpdate & { readonly caps?: readonly WrittenCap[] | undefined },
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
  const ofAccount = update.budgetTokens !== undefined || update.period !== undefined;
  if (ofAccount && key.accountId !== ownAccountId(key.id)) {
    throw new OperationRefusal("invalid_input", `the budget is that of ${key.accountId}; change it there`);
  }
  checkKeyFields(update, context.clock.wallMs());
  if (known !== null) refuseUnknownNames(update, known, key);
  const changes = attributesOf(update);
  const limits = caps && capLimits(caps, key.mode);
  const isNamed = Object.keys(changes).length > 0;
  if (!isNamed && limits === undefined) {
    throw new OperationRefusal("invalid_input", "nothing to change was named");
  }
  if (isNamed) await context.store.updateKey(key.id, changes);
  if (limits !== undefined) await context.store.setCaps({ keyId: key.id }, limits, context.clock.wallMs());
  const updated = await findKey(context, key.id);
  return { key: updated, detail: updateDetail(key, updated) };
}
