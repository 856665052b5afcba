import type { Command } from "commander";
import type { WrittenCap } from "../../../admin/operations/cap-text.ts";
import { keyModes } from "../../../base/key-attributes.ts";
import type { KeyMode } from "../../../store/store.ts";
import { creditAmount } from "../../arguments.ts";
import { capOption } from "../../cap-options.ts";
import { Misuse } from "../../failure.ts";
import { choiceOption, type DataOptions, newDataCommand } from "../../help.ts";
import { attributesFromOptions, keyOptions } from "../../key-options.ts";
import { changeKey } from "../../key-output.ts";
import { knownNames } from "../../known-names.ts";
import type { Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly mode?: KeyMode;
  readonly account?: string;
  readonly open?: true;
  readonly cap?: readonly WrittenCap[];
  readonly credit?: number;
  readonly budget?: number;
  readonly period?: string;
}

export function keysCreateCommand(terminal: Terminal): Command {
  const { label, ...limits } = keyOptions("create");
  const command = newDataCommand("create", "Create a key; its secret is shown once, now")
    .addOption(choiceOption("mode", keyModes, "what the key spends: credits, or the tokens of a budget"))
    .option("--account <account>", "draws on this account, by its id or label, and takes its mode")
    .option("--open", "billed afterwards: a credit key that needs no balance")
    .addOption(capOption("cap", "the most that it may take: 5/day, 20/week:claude-opus-*; repeatable"))
    .addOption(label)
    .option("--credit <n>", "opening balance of a credit key, in credits", creditAmount)
    .examples(
      "sluice keys create --mode credit --credit 5 --label alice",
      "sluice keys create --mode token_budget --budget 1000000 --period month",
      "sluice keys create --mode credit --credit 20 --scope openai --rpm 60 --expires 30d",
      ["sluice keys create --mode credit --credit 1 --json | jq -r .key", "only the secret"],
    )
    .action(async (options: Options) => {
      checkMode(options);
      const { mode, account, open, cap, credit: creditNano } = options;
      const spec = { creditNano, isOpen: open, ...attributesFromOptions(options) };
      const { createKeyOn } = await import("../../../admin/operations/create-key.ts");
      const { creationDetail } = await import("../../../admin/operations/change-detail.ts");
      await changeKey(terminal, options, ["key.create", "created"], async (context) => {
        const known = knownNames(options, context.dir, terminal);
        const issued = await createKeyOn(context, { ...spec, mode, account, caps: cap }, known);
        return { ...issued, detail: creationDetail(issued.key, creditNano ?? 0) };
      });
    });
  for (const option of Object.values(limits)) command.addOption(option);
  return command;
}

function checkMode(options: Options): void {
  if (options.mode === undefined && options.account === undefined) {
    throw new Misuse("name what the key spends with --mode credit or --mode token_budget, or its --account");
  }
  if (options.mode === "credit" && (options.budget !== undefined || options.period !== undefined)) {
    throw new Misuse("--budget and --period are for --mode token_budget; a credit key takes --credit");
  }
  if (options.mode === "token_budget" && options.credit !== undefined) {
    throw new Misuse("--credit is for --mode credit; a token-budget key takes --budget");
  }
}
