import { creditsFromNano } from "../../base/money.ts";
import { OperationRefusal } from "./refusal.ts";

const maxTextLength = 200;

/** Validates the text that an operator attaches to a ledger entry. */
export function checkEntryText(...texts: readonly (string | undefined)[]): void {
  for (const text of texts) {
    if (text !== undefined && (text === "" || text.length > maxTextLength)) {
      throw new OperationRefusal("invalid_input", `a reference or note has 1 to ${maxTextLength} characters`);
    }
  }
}

/** The detail of an entry in the audit log. */
export function entryDetail(amountNano: number, repeated: boolean): string {
  const sign = amountNano < 0 ? "-" : "+";
  const known = repeated ? " (known reference, nothing changed)" : "";
  return `${sign}${creditsFromNano(Math.abs(amountNano))} credits${known}`;
}
