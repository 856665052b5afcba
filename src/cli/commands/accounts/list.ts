import type { Command } from "commander";
import { standing } from "../../account-output.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { table } from "../../terminal/table.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

export function accountsListCommand(terminal: Terminal): Command {
  return newDataCommand("list", "List the accounts that are more than one key's own")
    .addHelpText("after", examples(["sluice accounts list", ""]))
    .action(async (options: DataOptions) => {
      const { listAccountViews } = await import("../../../admin/operations/account-view.ts");
      await withStore(terminal, options, {}, async (context) => {
        const views = await listAccountViews(context);
        if (options.json) printJson(views, terminal);
        else if (views.length === 0) {
          terminal.print(
            "No accounts yet. Create one with `sluice accounts create --mode credit --label team`.",
          );
        } else {
          const columns = [
            { title: "ACCOUNT" },
            { title: "LABEL", elastic: true },
            { title: "MODE" },
            { title: "STATUS" },
            { title: "LEFT OR OWED", align: "right" },
            { title: "KEYS", align: "right" },
          ] as const;
          const rows = views.map((view) => [
            view.id,
            view.label ?? "–",
            view.mode,
            view.status,
            `${standing(view)}${view.open ? " owed" : ""}`,
            String(view.keys.length),
          ]);
          terminal.print(table(columns, rows, terminal));
        }
      });
    });
}
