/**
 * Brings the catalog to the prices of public lists: LiteLLM's price file and models.dev's dump, each as it is published. Prints every
 * change with its source, and writes nothing if one is large and was not accepted.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { listedLines, listedVendors } from "../../src/config/catalog/price-lists.ts";
import { shippedCatalog } from "../../src/config/catalog/shipped.ts";
import { refreshedModels } from "./refresh/checked-models.ts";
import { RefreshFailure } from "./refresh/failure.ts";
import { lineText } from "./refresh/line-text.ts";
import { readLists } from "./refresh/lists.ts";
import { Report } from "./refresh/report.ts";
import { refreshed } from "./refresh/vendor-file.ts";

const usage = `usage: bun config/catalog/refresh.ts LIST[@DAY]... [--dry-run] [--accept-large] [--checked]

LIST is LiteLLM's model_prices_and_context_window.json or models.dev's api.json, DAY the day on which it was read, by default today.
Of two lists with a model, the one with the newer day decides.
--accept-large accepts prices that change by more than a factor of 3: compare them with the vendor's own list first.
--checked also replaces prices that were checked by hand: all in config/models.toml, and in lines with a note.`;

const folder = import.meta.dir;
const modelsFile = join(folder, "..", "models.toml");

async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      "dry-run": { type: "boolean", default: false },
      "accept-large": { type: "boolean", default: false },
      checked: { type: "boolean", default: false },
    },
  });
  if (positionals.length === 0) throw new RefreshFailure(usage);
  const { listed, skipped } = await readLists(positionals, new Date().toISOString().slice(0, 10));
  const report = new Report();
  const files = new Map<string, string>();
  const models = await Bun.file(modelsFile).text();
  files.set(modelsFile, refreshedModels(models, listed, values.checked, report));
  for (const name of listedVendors) {
    const lines = refreshed(
      { name, lines: listedLines(name), known: knownNames(name) },
      listed,
      values.checked,
      report,
    );
    files.set(join(folder, `${name}.jsonl`), lines.map((line) => `${lineText(line)}\n`).join(""));
  }
  report.print(skipped);
  if (report.large.length > 0 && !values["accept-large"])
    throw new RefreshFailure(
      `nothing was written: prices change by more than a factor of 3; compare them with the vendor's list, then pass --accept-large:\n${report.large.map((line) => `  ${line}`).join("\n")}`,
    );
  if (values["dry-run"]) return;
  for (const [file, text] of files) await Bun.write(file, text);
}

/** The names that clients can use for models of a vendor. */
function knownNames(vendor: string): ReadonlySet<string> {
  const models = shippedCatalog(vendor) ?? [];
  return new Set(models.flatMap(({ id, upstream_model: name = id, aliases = [] }) => [id, name, ...aliases]));
}

if (import.meta.main) {
  await main(process.argv.slice(2)).catch((error: unknown) => {
    if (!(error instanceof RefreshFailure)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  });
}
