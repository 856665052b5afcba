import type { Command } from "commander";
import type { AccountView } from "../../../admin/views.ts";
import { capText, standing } from "../../account-output.ts";
import { type CsvOption, type DataOptions, examples, newDataCommand, withCsv } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import type { Terminal } from "../../terminal/terminal.ts";

export function accountsListCommand(terminal: Terminal): Command {
  return withCsv(newDataCommand("list", "List the accounts that are more than one key's own"))
    .addHelpText("after", examples(["sluice accounts list", ""]))
    .action(async (options: DataOptions & CsvOption) => {
      const { listAccountViews } = await import("../../../admin/operations/account-view.ts");
      await withStore(terminal, options, {}, async (context) => {
        const views = await listAccountViews(context);
        const nothing =
          "No accounts yet. Create one with `sluice accounts create --mode credit --label team`.";
        printList({ rows: views, columns, nothing }, options, terminal);
      });
    });
}

const columns: readonly ListColumn<AccountView>[] = [
  { name: "id", title: "ACCOUNT" },
  { name: "label", title: "LABEL", elastic: true },
  { name: "mode", title: "MODE" },
  { name: "status", title: "STATUS" },
  { name: "open" },
  {
    name: "balance",
    title: "LEFT OR OWED",
    align: "right",
    value: ({ credit, budget }) => credit?.balance ?? budget?.remaining,
    cell: (view) => `${standing(view)}${view.open ? " owed" : ""}`,
  },
  { name: "purchased", value: ({ credit }) => credit?.purchased },
  { name: "used", value: ({ credit, budget }) => credit?.used ?? budget?.used },
  { name: "budget_tokens", value: ({ budget }) => budget?.tokens },
  { name: "keys", title: "KEYS", align: "right", value: ({ keys }) => keys.length },
  {
    name: "caps",
    title: "CAPS",
    elastic: true,
    value: ({ caps, mode }) => caps.map((cap) => capText(cap, mode)).join("; "),
  },
];
