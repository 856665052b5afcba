import { creditsFromNano } from "../base/money/money.ts";
import { positiveCreditAmount, signedCreditAmount } from "./arguments.ts";
import type { DataOptions, SluiceCommand } from "./help.ts";

interface CreditOptions extends DataOptions {
  readonly reference?: string;
  readonly note?: string;
}

/** Enters credits for a key or an account, and shows the result. */
export type EnterCredit = (
  kind: "topup" | "adjust",
  name: string,
  amount: number,
  options: CreditOptions,
) => Promise<void>;

/** Adds the options and the action of a top-up to a command on a key or an account. */
export function topUpCommand(command: SluiceCommand, enter: EnterCredit): SluiceCommand {
  return command
    .argument("<credits>", "how much to add", positiveCreditAmount)
    .option(
      "--reference <text>",
      "what it is for, such as an invoice; the same reference is applied only once",
    )
    .option("--note <text>", "a note for the ledger")
    .action((name: string, amountNano: number, options: CreditOptions) =>
      enter("topup", name, creditsFromNano(amountNano), options),
    );
}

export function adjustCommand(command: SluiceCommand, enter: EnterCredit): SluiceCommand {
  return (
    command
      .argument("<±credits>", "how much to add, or with a minus to take away", signedCreditAmount)
      .requiredOption("--note <text>", "reason, for the ledger entry")
      .option("--reference <text>", "the same reference is applied only once")
      // Otherwise -5 would be taken for an option.
      .allowUnknownOption()
      .action((name: string, amountNano: number, options: CreditOptions) =>
        enter("adjust", name, creditsFromNano(amountNano), options),
      )
  );
}
