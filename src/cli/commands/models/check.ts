import type { Command } from "commander";
import type { ProviderCheck } from "../../../admin/operations/check-providers.ts";
import { CommandFailed } from "../../failure.ts";
import { type ConfigOptions, examples, newConfigCommand } from "../../help.ts";
import { loadAndWarn } from "../../load-settings.ts";
import { plural, span } from "../../terminal/format.ts";
import { withProgress } from "../../terminal/progress.ts";
import { table } from "../../terminal/table.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

export function modelsCheckCommand(terminal: Terminal): Command {
  return newConfigCommand("check", "Send one small request to each provider")
    .addHelpText("after", examples(["sluice models check", "exit status 1 when any provider fails"]))
    .action(async (options: ConfigOptions) => {
      const { checkProviders } = await import("../../../admin/operations/check-providers.ts");
      const settings = await loadAndWarn(options, terminal);
      const asking = `asking ${plural(settings.providers.size, "provider")}`;
      const checks = await withProgress(asking, checkProviders(settings), terminal);
      if (options.json) printJson(checks.map(documentOf), terminal);
      else terminal.print(asTable(checks, terminal));
      if (checks.some((check) => !check.ok)) throw new CommandFailed();
    });
}

function asTable(checks: readonly ProviderCheck[], terminal: Terminal): string {
  const { style } = terminal;
  const rows = checks.map((check) => [
    check.ok ? style.good("✓") : style.bad("✗"),
    style.bold(check.provider),
    check.upstreamModel ?? style.dim("–"),
    check.dialect ?? style.dim("–"),
    span(check.tookMs),
    check.problem ?? style.good("answers"),
  ]);
  const columns = [
    { title: "" },
    { title: "PROVIDER" },
    { title: "MODEL", elastic: true },
    { title: "DIALECT" },
    { title: "TOOK", align: "right" },
    { title: "RESULT" },
  ] as const;
  return table(columns, rows, terminal);
}

function documentOf(check: ProviderCheck): object {
  return {
    provider: check.provider,
    dialect: check.dialect,
    upstream_model: check.upstreamModel,
    ok: check.ok,
    status: check.status,
    took_ms: check.tookMs,
    problem: check.problem,
  };
}
