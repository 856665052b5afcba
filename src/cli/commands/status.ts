import type { Command } from "commander";
import type { FindingView } from "../../admin/views.ts";
import { type DataOptions, examples, newDataCommand } from "../help.ts";
import { withStore } from "../open-store.ts";
import { moment } from "../terminal/format.ts";
import { table } from "../terminal/table.ts";
import { printJson, type Terminal } from "../terminal/terminal.ts";

export function statusCommand(terminal: Terminal): Command {
  return newDataCommand("status", "List what needs attention, the most urgent first")
    .addHelpText(
      "after",
      examples(
        ["sluice status", "failing providers, balances that run low, keys that expire, …"],
        ["sluice status --json", "the same for programs"],
      ),
    )
    .action(async (options: DataOptions) => {
      const { readAttention } = await import("../../admin/operations/attention.ts");
      await withStore(terminal, options, {}, async (context) => {
        const findings = await readAttention(context);
        if (options.json) printJson(findings, terminal);
        else if (findings.length === 0) {
          terminal.print(`${terminal.style.good("✓")} nothing needs attention`);
        } else terminal.print(asTable(findings, terminal));
      });
    });
}

function asTable(findings: readonly FindingView[], terminal: Terminal): string {
  const rows = findings.map(({ kind, since, text, last_words: words }) => [
    terminal.style.warn(kind),
    words === null ? text : `${text} It said: ${words}`,
    since === null ? terminal.style.dim("–") : moment(Date.parse(since)),
  ]);
  return table(
    [{ title: "KIND" }, { title: "WHAT", elastic: true }, { title: "SINCE (UTC)" }],
    rows,
    terminal,
  );
}
