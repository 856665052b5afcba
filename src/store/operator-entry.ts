import { creditsFromNano, maxCredits, maxLifetimeCredits, nanoPerCredit } from "../base/money.ts";
import type { AccountTotals, Entry, KeyRecord } from "./records.ts";
import { type OperatorEntry, type RecordedEntry, StoreRefusal } from "./store.ts";

/** Throws a refusal if a top-up or an adjustment is not possible. The totals must not change meanwhile. */
export function checkOperatorEntry(
  kind: "topup" | "adjustment",
  { amountNano, heldNano = 0 }: OperatorEntry,
  key: Pick<KeyRecord, "id" | "mode" | "prefix">,
  totals: Pick<AccountTotals, "posted" | "purchased">,
): void {
  if (key.mode !== "credit") {
    throw new StoreRefusal(
      "wrong_mode",
      `Key ${key.id} has a token budget and no credit. Change its budget instead.`,
    );
  }
  if (!Number.isSafeInteger(amountNano) || amountNano === 0 || (kind === "topup" && amountNano < 0)) {
    throw new StoreRefusal("invalid_amount", "The amount must be a whole number of nano-credits, not 0.");
  }
  const posted = totals.posted + amountNano;
  if (amountNano < 0 && posted < heldNano) {
    const held = heldNano === 0 ? "" : `, ${creditsFromNano(heldNano)} of it held by open requests`;
    throw new StoreRefusal(
      "invalid_amount",
      `${key.prefix} has ${creditsFromNano(totals.posted)} credits${held}; ${creditsFromNano(-amountNano)} cannot be taken away.`,
    );
  }
  if (posted > maxCredits * nanoPerCredit) {
    throw new StoreRefusal("invalid_amount", `A balance may be at most ${maxCredits} credits.`);
  }
  if (totals.purchased + amountNano > maxLifetimeCredits * nanoPerCredit) {
    throw new StoreRefusal(
      "invalid_amount",
      `A key may be given at most ${maxLifetimeCredits} credits in its life. Make a new key for more.`,
    );
  }
}

/** The credit that a key is given when it is made. */
export function openingCredit({ id, createdAtMs }: KeyRecord, amountNano: number): OperatorEntry {
  return { keyId: id, amountNano, reference: null, note: "opening credit", atMs: createdAtMs };
}

/** The entry as it was written. */
export function operatorEntryOf(
  id: number,
  kind: "topup" | "adjustment",
  { amountNano, atMs, reference, note }: OperatorEntry,
  key: Pick<KeyRecord, "id" | "accountId">,
): Entry {
  return {
    id,
    accountId: key.accountId,
    keyId: key.id,
    kind,
    amount: amountNano,
    atMs,
    exchangeId: null,
    basis: null,
    outcome: null,
    periodStartMs: 0,
    reference,
    note,
    model: null,
    askedModel: null,
    provider: null,
    quantities: null,
    rates: null,
    listCostNano: null,
  };
}

/** The entry that a reference was first used for; refused if that was for something else. */
export function repeatedEntry(earlier: Entry, kind: Entry["kind"], entry: OperatorEntry): RecordedEntry {
  if (earlier.kind === kind && earlier.amount === entry.amountNano) return { entry: earlier, repeated: true };
  throw new StoreRefusal(
    "reference_conflict",
    `The reference ${entry.reference} was used for another amount on this key. Nothing was changed.`,
  );
}
