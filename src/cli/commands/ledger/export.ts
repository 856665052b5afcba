import { type Command, Option } from "commander";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { count } from "../../terminal/format.ts";
import { startProgress } from "../../terminal/progress.ts";
import type { Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly format?: "csv" | "jsonl";
  readonly key?: string;
}

export function ledgerExportCommand(terminal: Terminal): Command {
  return newDataCommand("export", "Write every entry to stdout, oldest first")
    .addOption(
      new Option("--format <csv|jsonl>", "comma-separated, or one JSON object a line (default: csv)").choices(
        ["csv", "jsonl"],
      ),
    )
    .option("--key <key>", "only this key, by id, prefix or label")
    .addHelpText(
      "after",
      examples(
        ["sluice ledger export > ledger.csv", ""],
        ["sluice ledger export --format jsonl --key slu_8fK2mQ0x | jq .amount", "--json is the same"],
      ) +
        "\n\nAmounts are nano-credits (1 credit = 1,000,000,000) for credit keys, tokens for token-budget keys.",
    )
    .action(async (options: Options) => {
      const { exportLedger } = await import("../../../admin/operations/export-ledger.ts");
      const format = options.format ?? (options.json ? "jsonl" : "csv");
      await withStore(terminal, options, {}, async (context) => {
        const progress = startProgress(terminal);
        let bytes = 0;
        for await (const text of exportLedger(context, format, options.key)) {
          await terminal.write(text);
          bytes += text.length;
          progress.show(`${count(Math.round(bytes / 1024))} KiB written`);
        }
        progress.end();
      });
    });
}
