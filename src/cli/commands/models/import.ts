import type { Command } from "commander";
import { plural } from "../../../base/text/plural.ts";
import { type JsonOption, newCommand } from "../../help.ts";
import type { ImportedModel, ImportedPrices } from "../../import/imported.ts";
import { writeResult } from "../../named-file.ts";
import { readPriceFile } from "../../price-file.ts";
import { CommandError, printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends JsonOption {
  readonly provider?: string;
  readonly match?: string;
  readonly out?: string;
}

export function modelsImportCommand(terminal: Terminal): Command {
  return newCommand("import", "Convert a price list into models for the configuration")
    .argument(
      "<file>",
      "LiteLLM's model_prices_and_context_window.json or models.dev's api.json, or - for standard input",
    )
    .option("--provider <name>", "only models of this provider, as named in the file")
    .option("--match <pattern>", 'only names that match, such as "claude-*"')
    .option("--out <file>", "write to this new file instead of stdout")
    .examples(
      'sluice models import api.json --provider anthropic --match "claude-*-5*" >> sluice.toml',
      "sluice models import model_prices_and_context_window.json --provider openai --json",
    )
    .action(async (file: string, options: Options) => {
      const { choose } = await import("../../import/prices.ts");
      const prices = await readPriceFile(file, terminal);
      const models = choose(prices.models, { vendor: options.provider, match: options.match });
      if (models.length === 0) throw new CommandError(nothingFits(prices, options));
      await printSummary(prices, models, options, terminal);
    });
}

function nothingFits(prices: ImportedPrices, { provider, match }: Options): string {
  if (prices.models.length === 0) return "it has no models with a price";
  const vendors = [...new Set(prices.models.map((model) => model.vendor))].sort();
  const filters = [provider, match].filter((part) => part !== undefined).join(", ");
  return `nothing matches ${filters}; the file has ${vendors.slice(0, 40).join(", ")}`;
}

async function printSummary(
  prices: ImportedPrices,
  models: readonly ImportedModel[],
  options: Options,
  terminal: Terminal,
): Promise<void> {
  const { modelsToml } = await import("../../import/toml.ts");
  const toml = modelsToml(models, prices.source, new Date().toISOString().slice(0, 10));
  const path = writeResult(toml, options.out, terminal);
  if (options.json) {
    printJson({ source: prices.source, models, left_out: prices.leftOut, file: path }, terminal);
    return;
  }
  if (path === null) terminal.print(toml.trimEnd());
  const left = Object.entries(prices.leftOut).map(([what, count]) => `${count} ${what}`);
  const droppedText = left.length === 0 ? "" : `; skipped: ${left.join(", ")}`;
  const where = path === null ? "" : ` in ${path}`;
  terminal.note(`${plural(models.length, "model")} from ${prices.source}${where}${droppedText}`);
}
