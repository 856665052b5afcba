import type { Command } from "commander";
import type { KeyUpdate } from "../../../admin/operations/update-key.ts";
import type { BudgetPeriod } from "../../../store/store.ts";
import { atLeastOne, atLeastZero, expiry, nameList, orWord } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { Misuse } from "../../failure.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { knownNames } from "../../known-names.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { periodOption } from "./create.ts";

interface Options extends DataOptions {
  readonly label?: string;
  readonly budget?: number | "none";
  readonly period?: BudgetPeriod;
  readonly rpm?: number | "none";
  readonly scope?: string;
  readonly models?: readonly string[] | "all";
  readonly expires?: number | "never";
}

export function keysUpdateCommand(terminal: Terminal): Command {
  return newDataCommand("update", "Change a key's label, limits, scope or expiry")
    .argument("<key>", "its id, prefix or label")
    .option("--label <text>", 'a name for people; "" takes it away')
    .option("--budget <n|none>", "tokens per period", orWord("none", atLeastZero))
    .addOption(periodOption("the budget's period"))
    .option("--rpm <n|none>", "requests per minute", orWord("none", atLeastOne))
    .option("--scope <provider|all>", "only models of this provider")
    .option("--models <a,b|all>", "only these models", orWord("all", nameList))
    .option("--expires <when|never>", "a new expiry, which revives an expired key", (text: string) =>
      orWord("never", expiry)(text),
    )
    .addHelpText(
      "after",
      examples(
        ["sluice keys update slu_8fK2mQ0x --rpm 120 --models gpt-5.6,demo-small", ""],
        ["sluice keys update slu_8fK2mQ0x --expires 30d", "also brings an expired key back"],
      ),
    )
    .action(async (name: string, options: Options) => {
      const update = updateFrom(options);
      if (Object.values(update).every((value) => value === undefined)) {
        throw new Misuse("name what to change, such as --label, --rpm or --expires");
      }
      const { updateKey } = await import("../../../admin/operations/update-key.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const known = knownNames(options, context.dir, terminal);
        const { key, detail } = await updateKey(context, name, update, known);
        await auditChange(context, "key.update", key, detail);
        const output = { done: "updated", json: options.json === true, place: context.place } as const;
        showKey(await readKeySummary(context, key), output, terminal);
      });
    });
}

function updateFrom(options: Options): KeyUpdate {
  return {
    label: options.label === "" ? null : options.label,
    budgetTokens: options.budget === "none" ? null : options.budget,
    period: options.period,
    rpmLimit: options.rpm === "none" ? null : options.rpm,
    scope: options.scope,
    models: options.models === "all" ? null : options.models,
    expiresAtMs: options.expires === "never" ? null : options.expires,
  };
}
