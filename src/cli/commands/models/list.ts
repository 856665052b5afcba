import type { Command } from "commander";
import type { ConfiguredModelView } from "../../../admin/models/model-views.ts";
import type { StoredPricesView } from "../../../admin/models/prices.ts";
import { abilitiesOf, showsTokenPrice } from "../../../base/models/model-uses.ts";
import { count } from "../../../base/text/plural.ts";
import { describeExtras, type PriceInUsd } from "../../../catalog/price-view.ts";
import type { StoredPrices } from "../../../config/catalog/stored-prices.ts";
import { type CsvOption, type DataOptions, newOperationCommand, withCsv } from "../../help.ts";
import { loadAndWarn } from "../../load-settings.ts";
import { runningGateway, withOperations } from "../../operations/with-operations.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { creditsShown, type Terminal } from "../../terminal/terminal.ts";

type Options = DataOptions & CsvOption & { readonly all?: true };

export function modelsListCommand(terminal: Terminal): Command {
  return withCsv(newOperationCommand("list", "List the models that the gateway serves, with their prices"))
    .option("--all", "also models that lists do not show, such as dated ids")
    .examples(
      ["sluice models list", "of the gateway on this data folder, or of the file if none runs"],
      ["sluice models list --config new.toml", "of this file"],
      ["sluice models list --store $SLUICE_STORE", "with the prices stored in this database"],
      "sluice models list --json | jq '.[].id'",
    )
    .action(async (options: Options) => {
      const rows = (await runningModels(options, terminal)) ?? (await configuredModels(options, terminal));
      const list = { rows, columns: columnsOf(rows, terminal), nothing: "No models." };
      if (printList(list, options, terminal)) terminal.print(`\n${terminal.style.dim(legend)}`);
    });
}

/** Null if no gateway runs on the data, or a file is named. */
async function runningModels(
  options: Options,
  terminal: Terminal,
): Promise<readonly ConfiguredModelView[] | null> {
  if (options.config !== undefined) return null;
  const client = await runningGateway(terminal, options);
  if (client === null) return null;
  const query = options.all ? {} : { listed: true };
  const models = await client.list<ConfiguredModelView>("/models", query);
  const { address, gateway, name } = client;
  const where = gateway === null ? "" : ` (pid ${gateway.pid}, data in ${name})`;
  terminal.note(terminal.noteStyle.dim(`# the gateway at ${address}${where}`));
  return models;
}

async function configuredModels(
  options: Options,
  terminal: Terminal,
): Promise<readonly ConfiguredModelView[]> {
  const { listedModelViews } = await import("../../../admin/models/model-views.ts");
  const prices = options.store === undefined ? null : await pricesIn(options, terminal);
  const { models, source } = await loadAndWarn(options, terminal, prices);
  const here = options.store === undefined ? "here" : "here on this database";
  const why = options.config === undefined ? `no gateway runs ${here}; ` : "";
  terminal.note(
    terminal.noteStyle.dim(`# ${why}the models of ${source?.file ?? "the built-in configuration"}`),
  );
  return listedModelViews(models, options.all === true);
}

/** The prices that the gateways of a database have above the catalog. */
function pricesIn(options: Options, terminal: Terminal): Promise<StoredPrices> {
  return withOperations(terminal, options, {}, (client) => client.get<StoredPricesView>("/prices"));
}

const legend =
  "Limits in tokens. Prices in USD per million tokens or characters, per image, per minute, or per 1,000 of other units.";

function columnsOf(
  models: readonly ConfiguredModelView[],
  { style }: Terminal,
): readonly ListColumn<ConfiguredModelView>[] {
  const hasExtras = models.some((model) => extras(model).length > 0);
  const tokens = (
    name: "context_window" | "max_output_tokens",
    title: string,
  ): ListColumn<ConfiguredModelView> => ({
    name,
    title,
    align: "right",
    cell: ({ [name]: limit }) => (limit === null ? "–" : count(limit)),
  });
  const usd = (side: "input" | "output", title: string): ListColumn<ConfiguredModelView> => ({
    name: `price_${side}`,
    title,
    align: "right",
    value: (model) => priceOf(model)?.[side],
    cell: (model) => {
      const usd = priceOf(model)?.[side];
      if (usd === undefined) return model.free ? "free" : "–";
      return showsTokenPrice(model.serves, usd) ? creditsShown(usd) : "–";
    },
  });
  return [
    { name: "id", title: "MODEL", elastic: true, cell: ({ id }) => style.bold(id) },
    { name: "aliases", value: ({ aliases }) => aliases.join(" ") },
    { name: "display_name" },
    {
      name: "providers",
      title: "PROVIDER",
      elastic: true,
      value: (model) => providersOf(model).join(" "),
      cell: (model) => providersOf(model).join(", "),
    },
    tokens("context_window", "CONTEXT"),
    tokens("max_output_tokens", "OUTPUT"),
    { name: "free" },
    usd("input", "$ IN"),
    usd("output", "$ OUT"),
    { name: "price_source", value: ({ price_source: source }) => source ?? undefined },
    {
      name: "price_checked",
      ...(models.some((model) => model.price_checked !== null) ? { title: "CHECKED" } : {}),
      cell: ({ price_checked: day }) => day ?? "–",
    },
    { name: "capabilities", title: "CAN", value: (model) => abilitiesOf(model).join(" ") },
    {
      name: "price_extra",
      ...(hasExtras ? { title: "$ EXTRA" } : {}),
      elastic: true,
      value: (model) => extras(model).join("; "),
      cell: (model) => extras(model).join(", "),
    },
  ];
}

function providersOf({ deployments }: ConfiguredModelView): string[] {
  return [...new Set(deployments.map(({ provider }) => provider))];
}

/** The price that clients are shown. */
function priceOf({ price, deployments }: ConfiguredModelView): PriceInUsd | null {
  return price ?? deployments[0]?.price ?? null;
}

function extras(model: ConfiguredModelView): string[] {
  const price = priceOf(model);
  return price === null ? [] : describeExtras(price);
}
