import {
  creditsFromNano,
  maxCredits,
  maxDebtNano,
  maxLifetimeCredits,
  nanoPerCredit,
} from "../../base/money/money.ts";
import type { OwnStatements } from "../own-statements.ts";
import type { Work } from "../query.ts";
import type { AccountRecord, AccountTotals, Entry } from "../records.ts";
import { type OperatorEntry, type RecordedEntry, StoreError } from "../store.ts";
import { requireAccount } from "./account-table.ts";
import { lockAccount } from "./cap-table.ts";
import { chainEntry } from "./chained-entry.ts";
import { accountTotals, entryById } from "./entry-table.ts";
import { requireKey } from "./key-table.ts";
import { lockRevision, raiseRevision } from "./revision.ts";

/** Writes a top-up or an adjustment, unless its reference was used before. */
export function* recordOperatorEntry(
  own: OwnStatements,
  kind: "topup" | "adjustment",
  entry: OperatorEntry,
): Work<RecordedEntry> {
  yield* lockRevision();
  const key = entry.keyId === null ? null : yield* requireKey(entry.keyId);
  const { no: accountNo, account } = yield* requireAccount(key?.key.accountId ?? entry.accountId ?? "");
  const { reference } = entry;
  const earlier = reference === null ? null : yield* own.entryByReference(accountNo, reference);
  if (earlier !== null) return repeatedEntry(earlier, kind, entry);
  yield* lockAccount(accountNo);
  checkOperatorEntry(kind, entry, account, key?.key.prefix ?? account.id, yield* accountTotals(accountNo));
  const numbers = { accountNo, keyNo: key?.no ?? 0 };
  const { amountNano: amount, atMs, note } = entry;
  const chained = yield* chainEntry(own, numbers, { kind, amount, atMs, reference, note });
  yield* own.insertEntry(chained, numbers, yield* raiseRevision());
  return { entry: yield* entryById(chained.id), repeated: false };
}

/** Throws if a top-up or an adjustment is not possible. The totals must not change meanwhile. */
function checkOperatorEntry(
  kind: "topup" | "adjustment",
  { amountNano, heldNano = 0, keyId }: OperatorEntry,
  account: Pick<AccountRecord, "id" | "mode" | "isPostpaid">,
  /** The name that the operator used. */
  name: string,
  totals: Pick<AccountTotals, "posted" | "purchased">,
): void {
  const subject = keyId === null ? `Account ${account.id}` : `Key ${keyId}`;
  if (account.mode !== "credit") {
    throw new StoreError(
      "wrong_mode",
      `${subject} has a token budget, not credit. Change its budget instead.`,
    );
  }
  if (!Number.isSafeInteger(amountNano) || amountNano === 0 || (kind === "topup" && amountNano < 0)) {
    throw new StoreError("invalid_amount", "The amount must be a whole number of nano-credits, not 0.");
  }
  const posted = totals.posted + amountNano;
  if (amountNano < 0 && posted < heldNano && !account.isPostpaid) {
    const held = heldNano === 0 ? "" : ` (${creditsFromNano(heldNano)} reserved by requests in progress)`;
    throw new StoreError(
      "invalid_amount",
      `${name} has only ${creditsFromNano(totals.posted)} credits${held}, so ${creditsFromNano(-amountNano)} cannot be subtracted.`,
    );
  }
  if (amountNano < 0 && posted < -maxDebtNano) {
    throw new StoreError("invalid_amount", `An account can owe at most ${maxCredits} credits.`);
  }
  if (posted > maxCredits * nanoPerCredit) {
    throw new StoreError("invalid_amount", `A balance can be at most ${maxCredits} credits.`);
  }
  if (totals.purchased + amountNano > maxLifetimeCredits * nanoPerCredit) {
    throw new StoreError(
      "invalid_amount",
      `A key can receive at most ${maxLifetimeCredits} credits in total. Create a new key.`,
    );
  }
}

/** The opening credit of a new key or account. */
export function openingEntry(
  owner: Pick<OperatorEntry, "keyId" | "accountId">,
  amountNano: number,
  atMs: number,
): OperatorEntry {
  return { ...owner, amountNano, reference: null, note: "opening credit", atMs };
}

/** The entry that first used the reference. Throws if it differs from this one. */
function repeatedEntry(earlier: Entry, kind: Entry["kind"], entry: OperatorEntry): RecordedEntry {
  if (earlier.kind === kind && earlier.amount === entry.amountNano) return { entry: earlier, repeated: true };
  const whose = entry.keyId === null ? "account" : "key";
  throw new StoreError(
    "reference_conflict",
    `The reference ${entry.reference} was already used on this ${whose} with a different amount. Nothing was changed.`,
  );
}
