import { type Command, Option } from "commander";
import type { KeySpec } from "../../../keys/issue.ts";
import type { BudgetPeriod, KeyMode } from "../../../store/store.ts";
import { atLeastOne, atLeastZero, creditAmount, expiry, nameList } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { Misuse } from "../../failure.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { knownNames } from "../../known-names.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly mode: KeyMode;
  readonly label?: string;
  readonly credit?: number;
  readonly budget?: number;
  readonly period?: BudgetPeriod;
  readonly rpm?: number;
  readonly scope?: string;
  readonly models?: readonly string[];
  readonly expires?: number;
}

export function keysCreateCommand(terminal: Terminal): Command {
  return newDataCommand("create", "Create a key; its secret is shown once, now")
    .addOption(
      new Option("--mode <credit|token_budget>", "what the key spends: credits, or the tokens of a budget")
        .choices(["credit", "token_budget"])
        .makeOptionMandatory(),
    )
    .option("--label <text>", "a name for people")
    .option("--credit <n>", "opening balance of a credit key, in credits", creditAmount)
    .option("--budget <n>", "tokens per period of a token-budget key (default: no limit)", atLeastZero)
    .addOption(periodOption("the budget's period, by UTC calendar (default: month)"))
    .option("--rpm <n>", "requests per minute (default: no limit)", atLeastOne)
    .option("--scope <provider>", "only models of this provider (default: all)")
    .option("--models <a,b>", "only these models (default: all)", nameList)
    .option("--expires <when>", "a duration such as 30d, or a date such as 2027-01-31", (text) =>
      expiry(text),
    )
    .addHelpText(
      "after",
      examples(
        ["sluice keys create --mode credit --credit 5 --label alice", ""],
        ["sluice keys create --mode token_budget --budget 1000000 --period month", ""],
        ["sluice keys create --mode credit --credit 20 --scope openai --rpm 60 --expires 30d", ""],
        ["sluice keys create --mode credit --credit 1 --json | jq -r .key", "only the secret"],
      ),
    )
    .action(async (options: Options) => {
      checkMode(options);
      const { createKey } = await import("../../../admin/operations/create-key.ts");
      const { creationDetail } = await import("../../../admin/operations/key-change-detail.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, { create: true }, async (context) => {
        const known = knownNames(options, context.dir, terminal);
        const { key, secret } = await createKey(context, newKeyFrom(options), known);
        const output = { secret, json: options.json === true, place: context.place };
        showKey(await readKeySummary(context, key), output, terminal);
        await auditChange(context, "key.create", key, creationDetail(key, options.credit ?? 0));
      });
    });
}

export function periodOption(description: string): Option {
  return new Option("--period <day|week|month|none>", description).choices(["day", "week", "month", "none"]);
}

function checkMode(options: Options): void {
  if (options.mode === "credit" && (options.budget !== undefined || options.period !== undefined)) {
    throw new Misuse("--budget and --period are for --mode token_budget; a credit key takes --credit");
  }
  if (options.mode === "token_budget" && options.credit !== undefined) {
    throw new Misuse("--credit is for --mode credit; a token-budget key takes --budget");
  }
}

function newKeyFrom(options: Options): KeySpec {
  return {
    mode: options.mode,
    label: options.label,
    creditNano: options.credit,
    budgetTokens: options.budget,
    period: options.period,
    rpmLimit: options.rpm,
    scope: options.scope,
    models: options.models,
    expiresAtMs: options.expires,
  };
}
