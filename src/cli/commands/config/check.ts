import type { Command } from "commander";
import { configFileName } from "../../../config/defaults.ts";
import type { ConfigError } from "../../../config/problems.ts";
import type { Settings } from "../../../config/settings.ts";
import type { ConfigSource } from "../../../config/source.ts";
import { CommandFailed } from "../../failure.ts";
import { type ConfigOptions, examples, newConfigCommand } from "../../help.ts";
import { plural } from "../../terminal/format.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

export function configCheckCommand(terminal: Terminal): Command {
  return newConfigCommand("check", "Check the configuration and list everything that is wrong with it")
    .argument("[file]", "the file to check; the same as --config")
    .addHelpText(
      "after",
      examples(
        ["sluice config check", ""],
        ["sluice config check staging.toml && kill -HUP $(pidof sluice)", "reload only what is sound"],
      ),
    )
    .action(async (file: string | undefined, options: ConfigOptions) => {
      await check(file ?? options.config, options.json === true, terminal);
    });
}

async function check(file: string | undefined, json: boolean, terminal: Terminal): Promise<void> {
  const { loadSettings } = await import("../../../config/load.ts");
  const { ConfigError } = await import("../../../config/problems.ts");
  try {
    const { settings, source } = loadSettings({ file, env: terminal.env, cwd: terminal.cwd });
    rejectEmpty(source, settings, ConfigError);
    if (json) printJson(validDocument(source.file, settings), terminal);
    else terminal.print(validText(source.origin, settings, terminal));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (json) printJson({ ok: false, file: error.origin, problems: error.problems }, terminal);
    else terminal.note(invalidText(error.origin, error.problems, terminal));
    throw new CommandFailed();
  }
}

/** A missing or empty file is reported rather than called valid. */
function rejectEmpty({ file, origin }: ConfigSource, { named }: Settings, Problem: typeof ConfigError): void {
  if (file === null) {
    const message = `there is no ${configFileName} here; \`sluice config init\` writes one, and without one \`sluice serve\` runs the built-in demo`;
    throw new Problem("this folder", [{ path: "", message }]);
  }
  if (named.models.length > 0) return;
  throw new Problem(origin, [
    { path: "models", message: "there is none; add [[models]], or nothing is served" },
  ]);
}

function validDocument(file: string | null, settings: Settings): object {
  return {
    ok: true,
    file,
    providers: [...settings.providers.keys()],
    models: settings.models.map((model) => model.id),
    warnings: settings.warnings,
  };
}

function validText(origin: string, settings: Settings, { style }: Terminal): string {
  const providers = plural(settings.providers.size, "provider");
  const models = plural(settings.models.length, "model");
  const lines = [`${style.good("✓")} ${origin} is sound: ${providers}, ${models}`];
  for (const warning of settings.warnings) lines.push(`${style.warn("!")} ${warning}`);
  return lines.join("\n");
}

interface Problem {
  readonly path: string;
  readonly message: string;
}

function invalidText(origin: string, problems: readonly Problem[], { noteStyle }: Terminal): string {
  const lines = problems.map(({ path, message }) =>
    path === "" ? `  ${message}` : `  ${noteStyle.bold(path)}: ${message}`,
  );
  return [`${noteStyle.bad("✗")} ${plural(problems.length, "problem")} in ${origin}`, ...lines].join("\n");
}
