import type { KeyRecord, RecordedEntry } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { checkEntryText } from "./entry-text.ts";
import { findKey } from "./find-key.ts";
import { OperationRefusal } from "./refusal.ts";

interface Adjustment {
  /** Above 0 adds credit, below 0 removes it. */
  readonly amountNano: number;
  /** The reason, kept with the ledger entry. */
  readonly note: string;
  /** The same reference again is the same adjustment: a retry changes nothing. */
  readonly reference?: string | undefined;
}

interface Adjusted extends RecordedEntry {
  readonly key: KeyRecord;
}

/** The amount that open requests hold on a key. Only a running gateway knows it. */
type HeldNano = (keyId: string) => Promise<number>;

/**
 * Corrects a credit key's balance by a new entry; nothing is rewritten. Removing more than is available (the balance
 * minus open holds) is rejected, but not the repetition of an adjustment that took it.
 */
export async function adjust(
  context: OperationContext,
  idOrPrefix: string,
  { amountNano, note, reference }: Adjustment,
  heldNano: HeldNano = async () => 0,
): Promise<Adjusted> {
  const key = await findKey(context, idOrPrefix);
  if (key.mode !== "credit") {
    throw new OperationRefusal(
      "invalid_input",
      `${key.prefix} is a token-budget key: change its budget with an update instead`,
    );
  }
  if (amountNano === 0) throw new OperationRefusal("invalid_input", "an adjustment of 0 changes nothing");
  if (note.trim() === "") throw new OperationRefusal("invalid_input", "an adjustment needs a note: say why");
  checkEntryText(note, reference);
  const recorded = await context.store.recordAdjustment({
    keyId: key.id,
    amountNano,
    heldNano: await heldNano(key.id),
    reference: reference ?? null,
    note,
    atMs: context.clock.wallMs(),
  });
  return { ...recorded, key };
}
