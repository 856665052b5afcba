import type { Command } from "commander";
import { plural } from "../../base/text/plural.ts";
import { printable } from "../../base/text/printable.ts";
import type { Examination } from "../doctor/examine.ts";
import type { Finding } from "../doctor/finding.ts";
import { type DataOptions, newDataCommand } from "../help.ts";
import { withProgress } from "../terminal/progress.ts";
import { CommandFailed, printJson, type Terminal } from "../terminal/terminal.ts";

export function doctorCommand(terminal: Terminal): Command {
  return newDataCommand("doctor", "Find common mistakes, and print what a bug report needs")
    .examples(
      ["sluice doctor", "exit status 1 if there is a problem"],
      ["sluice doctor --json > report.json", "for a bug report; it contains no secrets"],
    )
    .addHelpText(
      "after",
      "\nIt reads each provider's list of models, which costs nothing. It changes nothing, and contacts nothing else.",
    )
    .action(async (options: DataOptions) => {
      const { examine } = await import("../doctor/examine.ts");
      const found = await withProgress("checking", examine(terminal, options), terminal);
      const isHealthy = found.findings.every(({ state }) => state !== "problem");
      if (options.json) printJson(documentOf(found, isHealthy), terminal);
      else show(found, terminal);
      if (!isHealthy) throw new CommandFailed();
    });
}

function documentOf({ machine, dataFolder, configFile, toml, findings }: Examination, isHealthy: boolean) {
  const config = { file: configFile, toml };
  return { ok: isHealthy, ...machine, data_folder: dataFolder, config, checks: findings };
}

function show({ machine, toml, findings }: Examination, terminal: Terminal): void {
  const { style } = terminal;
  const memory = `${Math.round(machine.memory_bytes / 1e9)} GB of memory`;
  const system = `${machine.platform} ${machine.arch} ${machine.system}, ${plural(machine.cpus, "CPU")}, ${memory}`;
  terminal.print(`sluice ${machine.version} (bun ${machine.bun}, ${system})`);
  if (toml !== null)
    terminal.print(
      style.dim(`\n# the configuration, without secrets\n${toml.split("\n").map(printable).join("\n")}\n`),
    );
  for (const finding of findings) terminal.print(lineOf(finding, terminal));
  terminal.print(`\n${summaryOf(findings, terminal)}`);
}

function lineOf({ check, state, text, fix }: Finding, { style }: Terminal): string {
  const mark = { ok: style.good("✓"), warning: style.warn("!"), problem: style.bad("✗") }[state];
  const advice = fix === null ? "" : `\n${" ".repeat(11)}${style.dim("→")} ${printable(fix)}`;
  return `${mark} ${check.padEnd(8)} ${printable(text)}${advice}`;
}

function summaryOf(findings: readonly Finding[], { style }: Terminal): string {
  const count = (state: Finding["state"]) => findings.filter((each) => each.state === state).length;
  const [problems, warnings] = [count("problem"), count("warning")];
  const counted =
    problems === 0 ? `${style.good("✓")} no problems found` : style.bad(plural(problems, "problem"));
  return warnings === 0 ? counted : `${counted}, ${style.warn(plural(warnings, "warning"))}`;
}
