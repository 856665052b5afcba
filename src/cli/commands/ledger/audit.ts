import type { Command } from "commander";
import { iso } from "../../../admin/moments.ts";
import type { DifferenceView, LedgerAuditView } from "../../../admin/reports/ledger-routes.ts";
import { plural } from "../../../base/text/plural.ts";
import { size } from "../../../base/text/size.ts";
import { since } from "../../arguments.ts";
import { chosenTime, type TimeOptions, untilHelp } from "../../chosen-time.ts";
import { type CsvOption, choiceOption, type DataOptions, newOperationCommand, withCsv } from "../../help.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { startProgress } from "../../terminal/progress.ts";
import { CommandFailed, type Terminal } from "../../terminal/terminal.ts";

export function ledgerAuditCommand(terminal: Terminal): Command {
  return withCsv(
    newOperationCommand("audit", "Recompute every charge and every total, and report differences"),
  )
    .option("--deep", "also check the times of every request")
    .examples(["sluice ledger audit", "exit status 1 when anything differs"])
    .addHelpText(
      "after",
      "\nRecomputes every charge from its stored rates, and every total from its entries. --deep also reports charges\nwhose time does not match the request, for example because the clock was changed.",
    )
    .action(async (options: DataOptions & CsvOption & { readonly deep?: true }) => {
      await withOperations(terminal, options, {}, async (client) => {
        const body = { deep: options.deep === true };
        const document = await client.post<LedgerAuditView>("/ledger/audit", body);
        const { ok, accounts, entries, differences: rows } = document;
        const agree = `${terminal.style.good("✓")} the ledger is consistent: ${plural(accounts, "account")}, ${plural(entries, "entry", "entries")}, no difference`;
        const isTable = printList({ rows, columns, document, nothing: agree }, options, terminal);
        if (!ok && isTable)
          terminal.note(`${terminal.noteStyle.bad("✗")} ${plural(rows.length, "difference")}`);
        if (!ok) throw new CommandFailed();
      });
    });
}

const columns: readonly ListColumn<DifferenceView>[] = [
  { name: "key_id", title: "KEY", cell: ({ key_id: id }) => id ?? "all" },
  { name: "where", title: "WHERE", elastic: true },
  { name: "field", title: "FIGURE" },
  { name: "kept", title: "KEPT", align: "right", value: ({ kept }) => String(kept) },
  { name: "recomputed", title: "COMPUTED", align: "right", value: ({ recomputed }) => String(recomputed) },
];

interface Options extends DataOptions, CsvOption, TimeOptions {
  readonly format?: "csv" | "jsonl";
  readonly key?: string;
}

export function ledgerExportCommand(terminal: Terminal): Command {
  return newOperationCommand("export", "Write the ledger's entries to stdout, oldest first")
    .addOption(
      choiceOption("format", ["csv", "jsonl"], "comma-separated, or one JSON object a line (default: csv)"),
    )
    .option("--csv", "the same as --format csv")
    .option("--key <key>", "only this key, by id, prefix or label")
    .option(
      "--since <when>",
      "24h, 7d, yesterday, 2026-10, a date or a time (default: the beginning)",
      (text) => since(text),
    )
    .option("--until <when>", untilHelp, (text) => since(text))
    .examples(
      "sluice ledger export > ledger.csv",
      ["sluice ledger export --csv --since 2026-10 --until 2026-11", "October, for an invoice"],
      ["sluice ledger export --format jsonl --key slu_8fK2mQ0x | jq .amount", "or --json"],
    )
    .addHelpText(
      "after",
      "\n`amount` is in nano-credits (1 credit = 1,000,000,000) for credit keys, in tokens for token-budget keys, as " +
        "`unit` says; `credits` is in credits. A charge has its `rates` and its `calculation`.",
    )
    .action(async (options: Options) => {
      const format = options.format ?? (options.json && !options.csv ? "jsonl" : "csv");
      const { key, since, until } = options;
      if (since !== undefined && until !== undefined) chosenTime(options, until);
      await withOperations(terminal, options, {}, async (client) => {
        const range = { since: since && iso(since), until: until && iso(until) };
        const progress = startProgress(terminal);
        const decoder = new TextDecoder();
        let bytes = 0;
        for await (const chunk of client.stream("/ledger/export", { format, key, ...range })) {
          await terminal.write(decoder.decode(chunk, { stream: true }));
          bytes += chunk.length;
          progress.show(`${size(bytes)} written`);
        }
        progress.end();
      });
    });
}
