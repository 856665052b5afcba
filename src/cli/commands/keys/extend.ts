import { type Command, InvalidArgumentError } from "commander";
import { auditChange } from "../../audit.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly cap?: string;
  readonly note: string;
}

export function keysExtendCommand(terminal: Terminal): Command {
  return newDataCommand("extend", "Raise a key's cap for its running period alone")
    .argument("<key>", "its id, prefix or label")
    .argument("<amount>", "by how much, in credits or tokens", aboveZero)
    .option("--cap <period[:models]>", "which cap, where it has several: month, week:claude-opus-*")
    .requiredOption("--note <text>", "why; kept in the audit log")
    .addHelpText(
      "after",
      examples(['sluice keys extend slu_8fK2mQ0x 20 --cap month --note "release week"', ""]),
    )
    .action(async (name: string, amount: number, options: Options) => {
      const { extendKey } = await import("../../../admin/operations/key-account.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const { cap, note } = options;
        const { key, detail } = await extendKey(context, name, { amount, cap, note });
        await auditChange(context, "key.extend", key, detail);
        const output = { done: "updated", json: options.json === true, place: context.place } as const;
        showKey(await readKeySummary(context, key), output, terminal);
      });
    });
}

function aboveZero(text: string): number {
  if (/^\d+(\.\d{1,9})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("Write an amount above 0, such as 20 or 0.5.");
}
