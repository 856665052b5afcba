import type { KeyRecord, RecordedEntry } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { checkEntryText } from "./entry-text.ts";
import { findKey } from "./find-key.ts";
import { OperationRefusal } from "./refusal.ts";

interface TopUp {
  readonly amountNano: number;
  /** The same reference again is the same top-up: a retry adds nothing. */
  readonly reference?: string | undefined;
  readonly note?: string | undefined;
}

interface ToppedUp extends RecordedEntry {
  readonly key: KeyRecord;
}

export async function topUp(context: OperationContext, idOrPrefix: string, input: TopUp): Promise<ToppedUp> {
  const key = await findKey(context, idOrPrefix);
  if (key.mode !== "credit") {
    throw new OperationRefusal(
      "invalid_input",
      `${key.prefix} is a token-budget key: raise its budget with an update instead`,
    );
  }
  if (key.status === "revoked") {
    throw new OperationRefusal("wrong_status", `${key.prefix} is revoked: credit on it could never be spent`);
  }
  checkEntryText(input.reference, input.note);
  const recorded = await context.store.recordTopUp({
    keyId: key.id,
    amountNano: input.amountNano,
    reference: input.reference ?? null,
    note: input.note ?? null,
    atMs: context.clock.wallMs(),
  });
  return { ...recorded, key };
}
