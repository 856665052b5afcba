import { positiveCreditAmount, signedCreditAmount } from "./arguments.ts";
import { type DataOptions, newDataCommand, type SluiceCommand } from "./help.ts";

export interface CreditOptions extends DataOptions {
  readonly reference?: string;
  readonly note?: string;
}

/** Whose credit is changed, and how that is entered and shown. */
export interface CreditHolder {
  readonly argument: readonly [name: string, description: string];
  enter(
    kind: "topup" | "adjustment",
    name: string,
    amountNano: number,
    options: CreditOptions,
  ): Promise<void>;
}

export function topUpCommand(
  summary: string,
  { argument: [name, description], enter }: CreditHolder,
): SluiceCommand {
  return newDataCommand("topup", summary)
    .argument(name, description)
    .argument("<credits>", "how much to add", positiveCreditAmount)
    .option("--reference <text>", "what it is for, such as an invoice; the same one again adds nothing")
    .option("--note <text>", "a remark for the ledger")
    .action((holder: string, amountNano: number, options: CreditOptions) =>
      enter("topup", holder, amountNano, options),
    );
}

export function adjustCommand(
  summary: string,
  { argument: [name, description], enter }: CreditHolder,
): SluiceCommand {
  return (
    newDataCommand("adjust", summary)
      .argument(name, description)
      .argument("<±credits>", "how much to add, or with a minus to take away", signedCreditAmount)
      .requiredOption("--note <text>", "why; kept with the ledger entry")
      .option("--reference <text>", "the same one again changes nothing")
      // Otherwise -5 would be taken for an option.
      .allowUnknownOption()
      .action((holder: string, amountNano: number, options: CreditOptions) =>
        enter("adjustment", holder, amountNano, options),
      )
  );
}
