import { creditsFromNano } from "../base/money/money.ts";
import type { ChargeEntry, JournaledStore, StoreFiles } from "../store/store.ts";
import type { Ledger } from "./ledger.ts";

interface LossyStore extends Pick<JournaledStore, "unwritten"> {
  readonly files: Pick<StoreFiles, "rescuedTo"> | null;
}

/** One sentence for each charge that could not be written, so that it can be entered by hand. */
export function describeLosses(store: LossyStore, ledger: Pick<Ledger, "summary">): readonly string[] {
  const losses = store.unwritten.map(
    (charge) =>
      `Charge NOT written: request ${charge.exchangeId}, key ${charge.keyId}, ${amountOf(charge, ledger)}.`,
  );
  const rescuedTo = store.files?.rescuedTo ?? null;
  if (rescuedTo === null) return losses;
  return [
    ...losses,
    `The database file was removed. A full copy is in ${rescuedTo}. ` +
      `Restore it with \`sluice restore ${rescuedTo}\`.`,
  ];
}

function amountOf({ keyId, charged }: ChargeEntry, ledger: Pick<Ledger, "summary">): string {
  return ledger.summary(keyId).mode === "credit"
    ? `${creditsFromNano(charged).toFixed(9)} credits`
    : `${charged} tokens`;
}
