import type { Command } from "commander";
import type { DiscoveredModel, Discovery } from "../../../admin/models/discover-models.ts";
import { isObject } from "../../../base/json.ts";
import { plural } from "../../../base/text/plural.ts";
import type { LoadedSettings } from "../../../config/load.ts";
import type { ProviderSettings } from "../../../vendors/provider.ts";
import { type ConfigOptions, type CsvOption, newConfigCommand, withCsv } from "../../help.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { withProgress } from "../../terminal/progress.ts";
import { CommandError, CommandFailed, creditsShown, type Terminal } from "../../terminal/terminal.ts";

interface Options extends ConfigOptions, CsvOption {
  readonly write?: true;
}

export function modelsDiscoverCommand(terminal: Terminal): Command {
  return withCsv(
    newConfigCommand("discover", "Compare each provider's own list of models with what is served"),
  )
    .argument("[provider]", "only this provider")
    .option("--write", "add the models with a known price to the configuration file")
    .examples(
      ["sluice models discover", "served, priced (not served yet), unpriced or gone"],
      ["sluice models discover local --write", "every model of a server of your own"],
    )
    .addHelpText("after", "\nIf a provider fails, the exit status is 1 and nothing is written.")
    .action(async (name: string | undefined, options: Options) => {
      const { loadSettings } = await import("../../../config/load.ts");
      const { discoverModels } = await import("../../../admin/models/discover-models.ts");
      const { env, cwd } = terminal;
      const loaded = loadSettings({ file: options.config, env, cwd });
      if (options.write && loaded.source.file === null)
        throw new CommandError("no configuration file to write to; create one with `sluice config init`");
      const providers = selectProviders(name, loaded);
      const discovering = discoverModels(providers, loaded.settings, catalogsIn(loaded));
      const found = await withProgress(
        `asking ${plural(providers.length, "provider")}`,
        discovering,
        terminal,
      );
      const nothing =
        providers.length === 0 ? "No provider to compare: the demo has no model list." : "No models.";
      const list = { rows: found.models, columns: columnsOf(terminal), nothing };
      printList(list, options, terminal);
      await finish(found, loaded, options, terminal);
    });
}

async function finish(
  { entries, failures, undeclared }: Discovery,
  { source }: LoadedSettings,
  { write, config }: Options,
  terminal: Terminal,
): Promise<void> {
  const { noteStyle } = terminal;
  for (const { provider, problem } of failures)
    terminal.note(`${noteStyle.bad("✗")} provider "${provider}": ${problem}`);
  if (failures.length > 0) {
    if (write) terminal.note("nothing was written");
    throw new CommandFailed();
  }
  for (const provider of undeclared)
    terminal.note(
      `${noteStyle.warn("!")} provider "${provider}" has a key, so its models may cost something; add those you want with \`free = true\` or a price`,
    );
  if (!write || source.file === null) return;
  if (entries.length === 0) return terminal.note("no models with a known price to add");
  const { appendModels } = await import("../../append-models.ts");
  appendModels(source.file, entries, { file: config, env: terminal.env, cwd: terminal.cwd });
  const added = `${plural(entries.length, "model")} added to ${source.file}`;
  terminal.note(`${noteStyle.good("✓")} ${added}\n  Next: \`sluice config reload\` if a gateway is running`);
}

/** The demo has no server, and so no list of models. */
function selectProviders(
  name: string | undefined,
  { settings: { providers, named } }: LoadedSettings,
): ProviderSettings[] {
  if (name === undefined) return [...providers.values()].filter(({ kind }) => kind !== "demo");
  const provider = providers.get(name);
  if (provider !== undefined) return [provider];
  if (named.providers.includes(name))
    throw new CommandError(
      `provider "${name}" has no usable key; \`sluice config check\` shows what is missing`,
    );
  throw new CommandError(unknownProvider(name, named.providers));
}

function unknownProvider(name: string, known: readonly string[]): string {
  const choices = known.map((each) => JSON.stringify(each)).join(", ");
  const rest = choices === "" ? "the configuration has none" : `the configuration has ${choices}`;
  return `provider "${name}" does not exist; ${rest}`;
}

/** The `catalog` option of each provider, as written in the file. */
function catalogsIn({ settings }: LoadedSettings): Record<string, string | undefined> {
  const providers = settings.written["providers"];
  const entries = Object.entries(isObject(providers) ? providers : {}).map(([name, provider]) => {
    const catalog = isObject(provider) ? provider["catalog"] : undefined;
    return [name, typeof catalog === "string" ? catalog : undefined] as const;
  });
  return Object.fromEntries(entries);
}

function usd(side: "input" | "output"): ListColumn<DiscoveredModel> {
  return {
    name: `price_${side}`,
    align: "right",
    value: ({ price }) => price?.[side],
    cell: ({ state, price }) => {
      if (state === "priced" && price === null) return "free";
      return price?.[side] === undefined ? "–" : creditsShown(price[side]);
    },
  };
}

function columnsOf({ style }: Terminal): readonly ListColumn<DiscoveredModel>[] {
  const paint = { served: style.good, priced: style.accent, unpriced: style.dim, gone: style.bad };
  return [
    { name: "provider", title: "PROVIDER", cell: ({ provider }) => style.bold(provider) },
    { name: "model", title: "MODEL", elastic: true },
    { name: "state", title: "STATE", cell: ({ state }) => paint[state](state) },
    { ...usd("input"), title: "$ IN" },
    { ...usd("output"), title: "$ OUT" },
    { name: "by", title: "PRICE BY", cell: ({ by }) => by ?? "–" },
  ];
}
