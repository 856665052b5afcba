import type { Command } from "commander";
import { plural } from "../../../base/plural.ts";
import type { CheckedConfig } from "../../../config/on-disk.ts";
import type { ConfigProblem } from "../../../config/problems.ts";
import { type ConfigOptions, newConfigCommand } from "../../help.ts";
import { CommandFailed, printJson, type Terminal } from "../../terminal/terminal.ts";
import { showWarnings } from "../../warnings.ts";

interface Options extends ConfigOptions {
  readonly strict?: true;
}

export function configCheckCommand(terminal: Terminal): Command {
  return newConfigCommand("check", "Check the configuration and list everything that is wrong with it")
    .argument("[file]", "the file to check; the same as --config")
    .option("--strict", "fail if there is a warning, too")
    .examples(
      "sluice config check",
      ["sluice config check --strict staging.toml", "before it is shipped"],
      ["sluice config check staging.toml && kill -HUP $(pidof sluice)", "reload only what is sound"],
    )
    .action(async (file: string | undefined, options: Options) => {
      const { checkConfig } = await import("../../check-config.ts");
      const { env, cwd } = terminal;
      const checked = checkConfig({ file: file ?? options.config, env, cwd });
      const isFine = checked.problems.length === 0 && !(options.strict && checked.warnings.length > 0);
      if (options.json) printJson(documentOf(checked, isFine), terminal);
      else tell(checked, isFine, terminal);
      if (!isFine) throw new CommandFailed();
    });
}

function documentOf({ file, settings, problems, warnings }: CheckedConfig, isFine: boolean): object {
  const served = {
    providers: [...(settings?.providers.keys() ?? [])],
    models: settings?.models.map(({ id }) => id),
  };
  return {
    ok: isFine,
    file,
    ...(problems.length === 0 ? served : { problems }),
    warnings,
  };
}

function tell(
  { origin, settings, problems, warnings }: CheckedConfig,
  isFine: boolean,
  terminal: Terminal,
): void {
  if (problems.length > 0) terminal.note(invalidText(origin, problems, terminal));
  if (!isFine) {
    showWarnings(warnings, terminal);
    if (problems.length === 0)
      terminal.note(`${terminal.noteStyle.bad("✗")} ${plural(warnings.length, "warning")} in ${origin}`);
    return;
  }
  const { style } = terminal;
  const providers = plural(settings?.providers.size ?? 0, "provider");
  const models = plural(settings?.models.length ?? 0, "model");
  terminal.print(`${style.good("✓")} ${origin} is sound: ${providers}, ${models}`);
  for (const warning of warnings) terminal.print(`${style.warn("!")} ${warning}`);
}

export function invalidText(
  origin: string,
  problems: readonly ConfigProblem[],
  { noteStyle }: Terminal,
): string {
  const lines = problems.map(({ path, where = path, message }) =>
    where === "" ? `  ${message}` : `  ${noteStyle.bold(where)}: ${message}`,
  );
  return [`${noteStyle.bad("✗")} ${plural(problems.length, "problem")} in ${origin}`, ...lines].join("\n");
}
