import type { Command } from "commander";
import { plural } from "../../../base/text/plural.ts";
import { group, type JsonOption, newCommand } from "../../help.ts";
import type { ImportedConfig } from "../../import/litellm-config.ts";
import { readInput, writeResult } from "../../named-file.ts";
import { readPriceFile } from "../../price-file.ts";
import { CommandError, printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends JsonOption {
  readonly out?: string;
  readonly prices?: string;
}

export function configImportCommands(terminal: Terminal): Command {
  return group("import", "Convert another gateway's configuration", [liteLlmCommand(terminal)]);
}

function liteLlmCommand(terminal: Terminal): Command {
  return newCommand("litellm", "Convert LiteLLM's config.yaml, and list what could not be converted")
    .argument("<file>", "LiteLLM's config.yaml, or - for standard input")
    .option("--out <file>", "write to this new file instead of stdout")
    .option(
      "--prices <file>",
      "a price list, as for `sluice models import`: for prices, limits and capabilities that the file does not state",
    )
    .examples(
      "sluice config import litellm config.yaml --out sluice.toml",
      "sluice config import litellm config.yaml --prices model_prices_and_context_window.json",
      ["sluice config import litellm config.yaml | less", "review first"],
    )
    .action(async (file: string, options: Options) => {
      const { importLiteLlmConfig } = await import("../../import/litellm-config.ts");
      const { PriceList } = await import("../../import/price-list.ts");
      const priceList = options.prices === undefined ? null : await readPriceFile(options.prices, terminal);
      const importOptions = priceList === null ? {} : { prices: new PriceList(priceList) };
      const imported = parsed(await readInput(file, terminal), file, (text) =>
        importLiteLlmConfig(text, importOptions),
      );
      if (imported.models === 0 && imported.dropped.length === 0 && imported.check.length === 0)
        throw new CommandError(`${file} has no model_list`);
      const path = writeResult(imported.toml, options.out, terminal);
      const { dropped, ...rest } = imported;
      if (options.json) printJson({ ...rest, not_imported: dropped, file: path }, terminal);
      else printSummary(imported, path, terminal);
    });
}

function parsed(text: string, file: string, read: (text: string) => ImportedConfig): ImportedConfig {
  try {
    return read(text);
  } catch (error) {
    throw new CommandError(`${file} is not YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The configuration goes to stdout, so that it can be redirected; notes go to stderr. */
function printSummary(imported: ImportedConfig, path: string | null, terminal: Terminal): void {
  if (path === null) terminal.print(imported.toml.trimEnd());
  const { noteStyle } = terminal;
  const what = `${plural(imported.providers, "provider")} and ${plural(imported.models, "model")}`;
  terminal.note(`${noteStyle.good("✓")} ${what}${path === null ? "" : ` written to ${path}`}`);
  noteList("Check these:", imported.check, terminal);
  noteList("Not imported:", imported.dropped, terminal);
}

function noteList(title: string, sentences: readonly string[], { note, noteStyle }: Terminal): void {
  if (sentences.length > 0)
    note([`${noteStyle.warn("!")} ${title}`, ...sentences.map((line) => `  ${line}`)].join("\n"));
}
