import type { Command } from "commander";
import { configFileName } from "../../../config/defaults.ts";
import type { ExaminedSettings } from "../../../config/load.ts";
import type { ConfigProblem } from "../../../config/problems.ts";
import type { Settings } from "../../../config/settings.ts";
import { CommandFailed } from "../../failure.ts";
import { type ConfigOptions, examples, newConfigCommand } from "../../help.ts";
import { plural } from "../../terminal/format.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";
import { showWarnings } from "../../warnings.ts";

interface Options extends ConfigOptions {
  readonly strict?: true;
}

export function configCheckCommand(terminal: Terminal): Command {
  return newConfigCommand("check", "Check the configuration and list everything that is wrong with it")
    .argument("[file]", "the file to check; the same as --config")
    .option("--strict", "fail if there is a warning, too")
    .addHelpText(
      "after",
      examples(
        ["sluice config check", ""],
        ["sluice config check --strict staging.toml", "before it is shipped"],
        ["sluice config check staging.toml && kill -HUP $(pidof sluice)", "reload only what is sound"],
      ),
    )
    .action(async (file: string | undefined, options: Options) => {
      const checked = await check(file ?? options.config, terminal);
      const isFine = checked.problems.length === 0 && !(options.strict && checked.warnings.length > 0);
      if (options.json) printJson(documentOf(checked, isFine), terminal);
      else tell(checked, isFine, terminal);
      if (!isFine) throw new CommandFailed();
    });
}

interface Checked {
  readonly file: string | null;
  readonly origin: string;
  /** Null if the file could not be read at all. */
  readonly settings: Settings | null;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly string[];
}

async function check(file: string | undefined, terminal: Terminal): Promise<Checked> {
  const { examineSettings } = await import("../../../config/load.ts");
  const { ConfigError } = await import("../../../config/problems.ts");
  try {
    const examined = examineSettings({ file, env: terminal.env, cwd: terminal.cwd });
    const { settings, source } = examined;
    const problems = [...examined.problems, ...nothingToServe(examined)];
    const warnings = [...settings.warnings, ...(await priceWarnings(examined))];
    return { file: source.file, origin: source.origin, settings, problems, warnings };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { origin, problems } = error;
    return { file: origin, origin, settings: null, problems, warnings: [] };
  }
}

/** A missing or empty file is reported rather than called valid. */
function nothingToServe({ source, settings, problems }: ExaminedSettings): readonly ConfigProblem[] {
  if (source.file === null) {
    const message = `there is no ${configFileName} here; \`sluice config init\` writes one, and without one \`sluice serve\` runs the built-in demo`;
    return [{ path: "", message }];
  }
  const isEmpty =
    settings.named.models.length === 0 && !problems.some(({ path }) => path.startsWith("models"));
  return isEmpty ? [{ path: "models", message: "there is none; add [[models]], or nothing is served" }] : [];
}

async function priceWarnings({ models, places }: ExaminedSettings): Promise<readonly string[]> {
  const { doubtPrices } = await import("../../price-doubts.ts");
  return models.flatMap((model) =>
    doubtPrices(model).map(({ path, message }) => {
      const at = `${places.pathOfModel(model.id)}.${path}`;
      return `${places.describe(at)} ${message}`;
    }),
  );
}

function documentOf({ file, settings, problems, warnings }: Checked, isFine: boolean): object {
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

function tell({ origin, settings, problems, warnings }: Checked, isFine: boolean, terminal: Terminal): void {
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

function invalidText(origin: string, problems: readonly ConfigProblem[], { noteStyle }: Terminal): string {
  const lines = problems.map(({ path, where = path, message }) =>
    where === "" ? `  ${message}` : `  ${noteStyle.bold(where)}: ${message}`,
  );
  return [`${noteStyle.bad("✗")} ${plural(problems.length, "problem")} in ${origin}`, ...lines].join("\n");
}
