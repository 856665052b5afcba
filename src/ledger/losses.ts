import { creditsFromNano } from "../base/money.ts";
import type { ChargeEntry, Store } from "../store/store.ts";
import type { Ledger } from "./ledger.ts";

/** What the store could not put on disk, a sentence for each charge, so that it can be booked by hand. */
export function describeLosses(
  store: Pick<Store, "unwritten" | "rescuedTo">,
  ledger: Pick<Ledger, "summary">,
): readonly string[] {
  const losses = store.unwritten.map(
    (charge) =>
      `A charge was NOT written: exchange ${charge.exchangeId}, key ${charge.keyId}, ${amountOf(charge, ledger)}.`,
  );
  if (store.rescuedTo === null) return losses;
  return [
    ...losses,
    `The database's file was gone. Everything that it held is now in ${store.rescuedTo}: ` +
      `go on with \`sluice restore ${store.rescuedTo}\`.`,
  ];
}

function amountOf({ keyId, charged }: ChargeEntry, ledger: Pick<Ledger, "summary">): string {
  return ledger.summary(keyId).mode === "credit"
    ? `${creditsFromNano(charged).toFixed(9)} credits`
    : `${charged} tokens`;
}
