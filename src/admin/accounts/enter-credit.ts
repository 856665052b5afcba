import type { AccountRecord, KeyRecord, OperatorEntry, RecordedEntry } from "../../store/store.ts";
import { invalidInput, type OperationContext, OperationError } from "../context.ts";
import { creditsText } from "../key-terms/change-detail.ts";
import { findKey } from "../key-terms/find-key.ts";
import { findAccount } from "./accounts.ts";

/** A top-up adds credit; an adjustment corrects it in either direction. Both are new entries; nothing is rewritten. */
type CreditKind = "topup" | "adjustment";

interface CreditEntry {
  /** Below 0 only for an adjustment that removes credit. */
  readonly amountNano: number;
  /** A reference that is used again means the same entry, so a retry changes nothing. */
  readonly reference?: string | null | undefined;
  readonly note?: string | null | undefined;
}

/**
 * Returns the amount reserved by open requests on a key or account. Only a running gateway knows it. An adjustment that
 * removes more than the rest is rejected, unless it repeats one that was entered before.
 */
type HeldNano = (id: string) => Promise<number>;

interface EnteredCredit extends RecordedEntry {
  /** For the audit log. */
  readonly detail: string;
}

/** Fields that the admin API and `--json` add to the key or account. */
export function entryOf({ entry, repeated }: EnteredCredit): { entry_id: number; repeated: boolean } {
  return { entry_id: entry.id, repeated };
}

export async function enterKeyCredit(
  context: OperationContext,
  idOrPrefix: string,
  kind: CreditKind,
  entry: CreditEntry,
  held?: HeldNano,
): Promise<EnteredCredit & { readonly key: KeyRecord }> {
  const key = await findKey(context, idOrPrefix);
  if (key.mode !== "credit") {
    const change = kind === "topup" ? "raise" : "change";
    const why = `${key.prefix} is a token-budget key: ${change} its budget with an update instead`;
    throw invalidInput(why);
  }
  if (kind === "topup" && key.status === "revoked") {
    throw new OperationError(
      "wrong_status",
      `${key.prefix} is revoked, so credit on it could never be spent`,
    );
  }
  return { ...(await enter(context, kind, { keyId: key.id }, entry, await held?.(key.id))), key };
}

export async function enterAccountCredit(
  context: OperationContext,
  name: string,
  kind: CreditKind,
  entry: CreditEntry,
  held?: HeldNano,
): Promise<EnteredCredit & { readonly account: AccountRecord }> {
  const account = await findAccount(context, name);
  const owner = { keyId: null, accountId: account.id };
  return { ...(await enter(context, kind, owner, entry, await held?.(account.id))), account };
}

async function enter(
  { store, clock }: OperationContext,
  kind: CreditKind,
  owner: Pick<OperatorEntry, "keyId" | "accountId">,
  { amountNano, reference = null, note = null }: CreditEntry,
  heldNano = 0,
): Promise<EnteredCredit> {
  if (kind === "adjustment") {
    if (amountNano === 0) throw invalidInput("an adjustment of 0 changes nothing");
    if (note?.trim() === "") throw invalidInput("an adjustment needs a note that explains it");
  }
  checkEntryText(reference, note);
  const entry = { ...owner, amountNano, heldNano, reference, note, atMs: clock.wallMs() };
  const recorded = kind === "topup" ? await store.recordTopUp(entry) : await store.recordAdjustment(entry);
  return { ...recorded, detail: entryDetail(amountNano, recorded.repeated) };
}

const maxTextLength = 200;

/** Validates the text that an operator attaches to a ledger entry. */
export function checkEntryText(...texts: readonly (string | null | undefined)[]): void {
  for (const text of texts) {
    if (text != null && (text.trim() === "" || text.length > maxTextLength)) {
      throw invalidInput(`a reference or note must have 1 to ${maxTextLength} characters`);
    }
  }
}

function entryDetail(amountNano: number, repeated: boolean): string {
  const sign = amountNano < 0 ? "-" : "+";
  const known = repeated ? " (reference already used, nothing changed)" : "";
  return `${sign}${creditsText(Math.abs(amountNano))}${known}`;
}
