import type { Command } from "commander";
import type { ConfigTextView } from "../../../admin/config/schema.ts";
import type { StoredPricesView } from "../../../admin/models/prices.ts";
import type { JsonObject } from "../../../base/json.ts";
import { plural } from "../../../base/text/plural.ts";
import type { ServedCatalog } from "../../../config/catalog/served.ts";
import type { StoredPrices } from "../../../config/catalog/stored-prices.ts";
import { findConfig } from "../../../config/source.ts";
import { parseToml } from "../../../config/toml.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { dataFolder } from "../../data-place.ts";
import { type CsvOption, type DataOptions, newOperationCommand, withCsv } from "../../help.ts";
import type { OperationClient } from "../../operations/client.ts";
import { withOperations } from "../../operations/with-operations.ts";
import type { ListedChange, UpdatePlan } from "../../prices/plan-update.ts";
import { configFileOf, servedConfig } from "../../serve/files-for-commands.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { CommandError, Misuse, printDone, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions, CsvOption, YesOption {
  readonly from?: string;
  readonly dryRun?: true;
  readonly allowLarge?: true;
  readonly revert?: true;
}

export function modelsUpdateCommand(terminal: Terminal): Command {
  return withCsv(newOperationCommand("update", "Update the prices of the built-in catalog from a price list"))
    .option(
      "--from <file|url>",
      "[[models]] in TOML, LiteLLM's model_prices_and_context_window.json or models.dev's api.json",
    )
    .option("--dry-run", "only show what would change")
    .option("--allow-large", "accept prices that change by more than a factor of 3")
    .option("--revert", "remove the updates, so that the built-in prices apply again")
    .option("--yes", "do not ask (required without a terminal)")
    .examples(
      ["sluice models update --from prices.toml --dry-run", "what would change for the models served here"],
      "sluice models update --from https://models.dev/api.json",
      ["sluice models update --revert", "back to the built-in prices"],
    )
    .addHelpText(
      "after",
      "\nEntries of the configuration keep their own prices. Running gateways apply an update within seconds.",
    )
    .action(async (options: Options) => {
      if ((options.from === undefined) === (options.revert === undefined))
        throw new Misuse("pass --from with a file or an address, or --revert");
      const writes = options.dryRun === undefined;
      await withOperations(terminal, options, { create: writes, writes }, (client) =>
        options.from === undefined
          ? revert(client, options, terminal)
          : update(client, options.from, options, terminal),
      );
    });
}

async function revert(client: OperationClient, options: Options, terminal: Terminal): Promise<void> {
  const { version: replaces } = await client.get<StoredPricesView>("/prices");
  if (replaces === null) throw new CommandError("no prices are stored: the built-in ones apply");
  if (options.dryRun)
    return printDone(options.json, { reverted: false }, "the stored prices would be removed", terminal);
  await confirm("Remove the stored prices, so that the built-in ones apply again?", options, terminal);
  await client.post("/prices", { replaces, catalogs: null, summary: "reverted" });
  printDone(options.json, { reverted: true }, `the built-in prices apply again; ${applied}`, terminal);
}

const applied = "running gateways reload within seconds";

async function update(
  client: OperationClient,
  from: string,
  options: Options,
  terminal: Terminal,
): Promise<void> {
  const { servedCatalogs } = await import("../../../config/catalog/served.ts");
  const { fetchList } = await import("../../prices/fetch-list.ts");
  const { readList } = await import("../../prices/read-list.ts");
  const { planUpdate } = await import("../../prices/plan-update.ts");
  const stored = await client.get<StoredPricesView>("/prices");
  const document = await documentFor(client, options, terminal);
  const catalogs = servedCatalogs(document, stored);
  if (catalogs.length === 0)
    throw new CommandError(
      'no provider serves models by the catalog (models = "catalog"), so there is no price to update; pass the configuration with --config',
    );
  const { text, name } = await fetchList(from, terminal);
  const list = readList(text, name, providersIn(catalogs));
  const plan = planUpdate(catalogs, list, new Date().toISOString().slice(0, 10));
  rejectUnusable(plan, name, options);
  const catalogsThen = merged(stored, plan);
  await rejectUnloadable(document, stored, { ...stored, catalogs: catalogsThen }, name, terminal);

  const summary = `${list.source} of ${name}: ${summaryOf(plan)}`;
  const rows = plan.changes;
  const result = { source: list.source, from: name, changes: rows, confirmed: plan.confirmed };
  if (!options.json)
    printList({ rows, columns: columnsOf(terminal), nothing: "No changes." }, options, terminal);
  if (options.dryRun)
    return printDone(options.json, { ...result, stored: false }, `${summary}; nothing was changed`, terminal);
  terminal.note(summary);
  await confirm("Use these prices from now on?", options, terminal);
  await client.post("/prices", { replaces: stored.version, catalogs: catalogsThen, summary });
  printDone(options.json, { ...result, stored: true }, `the prices are stored; ${applied}`, terminal);
}

/** The configuration that is served: of the gateway that runs, else the file found here, else what the last gateway ran with. */
async function documentFor(
  client: OperationClient,
  options: Options,
  terminal: Terminal,
): Promise<JsonObject> {
  const { config: file } = options;
  const { env, cwd } = terminal;
  if (client.isRunning && file === undefined)
    return (await client.get<ConfigTextView>("/config/toml")).config;
  const dir = dataFolder(options, terminal);
  const source = findConfig({ file: file ?? configFileOf(dir), env, cwd });
  const last = source.file === null ? servedConfig(dir) : null;
  return last?.written ?? parseToml(source.text, source.origin);
}

/** The catalogs by the names of the providers that serve by them, and by their own. */
function providersIn(catalogs: readonly ServedCatalog[]): ReadonlyMap<string, string> {
  return new Map(catalogs.flatMap(({ name, providers }) => [name, ...providers].map((each) => [each, name])));
}

function rejectUnusable(
  { problems, large, changes, confirmed }: UpdatePlan,
  name: string,
  options: Options,
): void {
  if (problems.length > 0)
    throw new CommandError(`nothing was changed, because ${name} has wrong prices:\n${lines(problems)}`);
  if (large.length > 0 && options.allowLarge === undefined && options.dryRun === undefined)
    throw new CommandError(
      `nothing was changed: prices change by more than a factor of 3; compare them with the provider's list, then pass --allow-large:\n${lines(large)}`,
    );
  if (changes.length === 0 && confirmed === 0)
    throw new CommandError(`nothing was changed: ${name} has no prices for the vendors that are served here`);
}

const maxLines = 20;

function lines(all: readonly string[]): string {
  const shown = all.slice(0, maxLines).map((line) => `  ${line}`);
  return [...shown, ...(all.length > maxLines ? [`  and ${all.length - maxLines} more`] : [])].join("\n");
}

/** Merges an update with the stored prices. It replaces earlier updates of the same models. */
function merged(stored: StoredPrices, { catalogs }: UpdatePlan): StoredPrices["catalogs"] {
  const all = { ...stored.catalogs };
  for (const [name, models] of Object.entries(catalogs)) {
    const byId = new Map((all[name] ?? []).map((model) => [model.id, model]));
    for (const model of models) byId.set(model.id, { ...byId.get(model.id), ...model });
    all[name] = [...byId.values()];
  }
  return all;
}

/** Prices that the configuration would not load with must never be stored: a gateway could not start. */
async function rejectUnloadable(
  document: JsonObject,
  stored: StoredPrices,
  next: StoredPrices,
  name: string,
  { env, cwd }: Terminal,
): Promise<void> {
  const { examineSettings } = await import("../../../config/load.ts");
  const text = Bun.TOML.stringify(document);
  const problemsWith = (prices: StoredPrices | null) =>
    examineSettings({ text, env, cwd, prices }).problems.map(({ path, message }) => `${path}: ${message}`);
  const known = new Set(problemsWith(stored));
  const problems = problemsWith(next).filter((problem) => !known.has(problem));
  if (problems.length > 0)
    throw new CommandError(`nothing was changed, because ${name} has wrong prices:\n${lines(problems)}`);
}

function summaryOf({ changes, confirmed }: UpdatePlan): string {
  const counts = (["new", "up", "down", "other", "gone"] as const).map((kind) => {
    const found = changes.filter(({ change }) => change === kind).length;
    return found === 0 ? "" : `${found} ${kind === "other" ? "changed otherwise" : kind}`;
  });
  return [...counts.filter((count) => count !== ""), `${plural(confirmed, "price")} confirmed`].join(", ");
}

function columnsOf({ style }: Terminal): readonly ListColumn<ListedChange>[] {
  const paint = { new: style.accent, up: style.warn, down: style.good, other: style.warn, gone: style.dim };
  return [
    { name: "catalog", title: "CATALOG" },
    { name: "model", title: "MODEL", elastic: true, cell: ({ model }) => style.bold(model) },
    { name: "change", title: "CHANGE", cell: ({ change }) => paint[change](change) },
    {
      name: "factor",
      title: "TIMES",
      align: "right",
      cell: ({ factor }) => (factor === null ? "–" : String(Math.round(factor * 100) / 100)),
    },
    { name: "rates", title: "$", elastic: true, value: ratesText },
  ];
}

function ratesText({ change, rates, dropped }: ListedChange): string {
  if (change === "gone") return "not in the list; its price stays";
  const lost = dropped.length === 0 ? [] : [`without ${dropped.join(", ")}`];
  return [...rates, ...lost].join(", ");
}
