import { creditsFromNano } from "../base/money/money.ts";
import { positiveCreditAmount, signedCreditAmount } from "./arguments.ts";
import { argument, option, requiredOption } from "./help.ts";

/** The options of a top-up or an adjustment of a key or an account. */
export interface CreditFields {
  readonly amount: number;
  readonly reference?: string;
  readonly note?: string;
}

export const topUpFields = {
  amount: argument("<credits>", "how much to add", (text) => creditsFromNano(positiveCreditAmount(text))),
  reference: option(
    "--reference <text>",
    "what it is for, such as an invoice; the same reference is applied only once",
  ),
  note: option("--note <text>", "a note for the ledger"),
};

export const adjustFields = {
  amount: argument("<±credits>", "how much to add, or with a minus to take away", (text) =>
    creditsFromNano(signedCreditAmount(text)),
  ),
  note: requiredOption("--note <text>", "reason, for the ledger entry"),
  reference: option("--reference <text>", "the same reference is applied only once"),
};

/** For a top-up or an adjustment whose response does not come. */
export function whetherEntered({ reference }: CreditFields): string {
  return reference === undefined
    ? "`sluice audit-log` shows whether it was entered; pass --reference, and it can be repeated safely"
    : "repeat it with the same --reference, which is entered only once";
}
