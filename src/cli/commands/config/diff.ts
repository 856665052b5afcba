import type { Command } from "commander";
import type { ConfigChangeView } from "../../../admin/views.ts";
import { type CsvOption, type DataOptions, newDataCommand, withCsv } from "../../help.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { CommandFailed, printJson, type Terminal } from "../../terminal/terminal.ts";
import { invalidText } from "./check.ts";
import { configInForce } from "./show.ts";

export function configDiffCommand(terminal: Terminal): Command {
  return withCsv(
    newDataCommand("diff", "Check the configuration on disk, and show what a reload would change"),
  )
    .argument("[file]", "the file to compare (default: the one that is in force)")
    .examples(
      ["sluice config diff", "before `sluice config reload`"],
      ["sluice config diff staging.toml --json", "another file, for programs"],
    )
    .action(async (file: string | undefined, options: DataOptions & CsvOption) => {
      const { checkConfig } = await import("../../check-config.ts");
      const { configCheckDocument } = await import("../../../admin/operations/config-check.ts");
      const running = configInForce(options, terminal);
      const { env, cwd } = terminal;
      const checked = checkConfig({ file: file ?? options.config ?? running.file ?? undefined, env, cwd });
      const document = configCheckDocument(checked, running.written);
      if (!document.ok) {
        if (options.json) printJson(document, terminal);
        else terminal.note(invalidText(checked.origin, checked.problems, terminal));
        throw new CommandFailed();
      }
      const nothing = `${terminal.style.good("✓")} ${checked.origin} is in force`;
      const list = { rows: document.changes, columns: columnsOf(terminal), document, nothing };
      printList(list, options, terminal);
    });
}

function columnsOf({ style }: Terminal): readonly ListColumn<ConfigChangeView>[] {
  const paint = { added: style.good, changed: style.warn, removed: style.bad };
  return [
    { name: "change", title: "CHANGE", cell: ({ change }) => paint[change](change) },
    { name: "where", title: "WHAT", elastic: true },
    { name: "before", title: "NOW", elastic: true },
    { name: "after", title: "THEN", elastic: true },
    {
      name: "needs_restart",
      title: "",
      cell: (row) => (row.needs_restart ? style.warn("takes a restart") : ""),
    },
  ];
}
