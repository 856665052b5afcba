import type { Command } from "commander";
import type { ProviderCheck } from "../../../admin/operations/check-providers.ts";
import type { ModelSettings, Settings } from "../../../config/settings.ts";
import { didYouMean } from "../../../config/suggest.ts";
import { CommandFailed, Refused } from "../../failure.ts";
import { type ConfigOptions, examples, newConfigCommand } from "../../help.ts";
import { loadAndWarn } from "../../load-settings.ts";
import { plural, span } from "../../terminal/format.ts";
import { withProgress } from "../../terminal/progress.ts";
import { table } from "../../terminal/table.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

export function modelsCheckCommand(terminal: Terminal): Command {
  return newConfigCommand("check", "Send one small request to each provider, or for one model")
    .argument("[model]", "ask every deployment of this model instead")
    .addHelpText(
      "after",
      examples(
        ["sluice models check", "exit status 1 when any provider fails"],
        ["sluice models check house-model", "each of its deployments, with the name that the provider knows"],
      ),
    )
    .addHelpText("after", "\nA provider with several keys is asked with each of them.")
    .action(async (id: string | undefined, options: ConfigOptions) => {
      const { checkDocument, checkProviders } = await import("../../../admin/operations/check-providers.ts");
      const settings = await loadAndWarn(options, terminal);
      const model = id === undefined ? undefined : modelNamed(id, settings);
      const asked =
        model === undefined
          ? plural(settings.providers.size, "provider")
          : plural(model.deployments.length, "deployment");
      const checks = await withProgress(`asking ${asked}`, checkProviders(settings, model), terminal);
      if (options.json) printJson(checks.map(checkDocument), terminal);
      else terminal.print(asTable(checks, terminal));
      if (checks.some((check) => !check.ok)) throw new CommandFailed();
    });
}

function modelNamed(id: string, { models }: Settings): ModelSettings {
  const model = models.find((candidate) => candidate.id === id || candidate.aliases.includes(id));
  if (model !== undefined) return model;
  const known = new Set(models.map((candidate) => candidate.id));
  throw new Refused(
    `there is no model "${id}"${didYouMean(id, known) || "; `sluice models list` shows them"}`,
  );
}

function asTable(checks: readonly ProviderCheck[], terminal: Terminal): string {
  const { style } = terminal;
  const rows = checks.map((check) => [
    check.ok ? style.good("✓") : style.bad("✗"),
    style.bold(check.provider) + (check.key === null ? "" : ` key ${check.key}`),
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
