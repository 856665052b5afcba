import type { Command } from "commander";
import { publishedPrice } from "../../../catalog/price.ts";
import { describeExtras, priceInUsd } from "../../../catalog/price-view.ts";
import type { ModelSettings } from "../../../config/settings.ts";
import { type ConfigOptions, type CsvOption, newConfigCommand, withCsv } from "../../help.ts";
import { loadAndWarn } from "../../load-settings.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { count, type Terminal, usdPerMillion } from "../../terminal/terminal.ts";

export function modelsListCommand(terminal: Terminal): Command {
  return withCsv(newConfigCommand("list", "List the models of the configuration with their prices"))
    .examples("sluice models list", "sluice models list --json | jq '.[].id'")
    .action(async (options: ConfigOptions & CsvOption) => {
      const { models } = await loadAndWarn(options, terminal);
      const columns = columnsOf(models, terminal);
      const list = { rows: models, columns, document: models.map(asJson), nothing: "No models." };
      if (printList(list, options, terminal)) terminal.print(`\n${terminal.style.dim(legend)}`);
    });
}

const legend = "Tokens; prices in USD per million tokens, those of tools per 1,000 calls.";

function columnsOf(
  models: readonly ModelSettings[],
  { style }: Terminal,
): readonly ListColumn<ModelSettings>[] {
  const right = { align: "right" } as const;
  const hasExtras = models.some((model) => extras(model).length > 0);
  const tokens = (limit: number | null) => (limit === null ? "–" : count(limit));
  const usd = (model: ModelSettings, side: "input" | "output") => {
    const price = publishedPrice(model);
    return price === null ? null : priceInUsd(price)[side];
  };
  return [
    { name: "id", title: "MODEL", elastic: true, cell: ({ id }) => style.bold(id) },
    { name: "aliases", value: ({ aliases }) => aliases.join(" ") },
    { name: "display_name", value: ({ displayName }) => displayName },
    {
      name: "providers",
      title: "PROVIDER",
      elastic: true,
      value: (model) => providersOf(model).join(" "),
      cell: (model) => providersOf(model).join(", "),
    },
    {
      name: "context_window",
      title: "CONTEXT",
      ...right,
      value: ({ contextWindow }) => contextWindow,
      cell: ({ contextWindow }) => tokens(contextWindow),
    },
    {
      name: "max_output_tokens",
      title: "OUTPUT",
      ...right,
      value: ({ maxOutputTokens }) => maxOutputTokens,
      cell: ({ maxOutputTokens }) => tokens(maxOutputTokens),
    },
    { name: "free", value: ({ free }) => free },
    {
      name: "price_input",
      title: "$ IN",
      ...right,
      value: (model) => usd(model, "input"),
      cell: (model) => prices(model)[0],
    },
    {
      name: "price_output",
      title: "$ OUT",
      ...right,
      value: (model) => usd(model, "output"),
      cell: (model) => prices(model)[1],
    },
    { name: "capabilities", title: "CAN", value: (model) => abilities(model).join(" ") },
    {
      name: "price_extra",
      ...(hasExtras ? { title: "$ EXTRA" } : {}),
      elastic: true,
      value: (model) => extras(model).join("; "),
      cell: (model) => extras(model).join(", "),
    },
  ];
}

function providersOf(model: ModelSettings): string[] {
  return [...new Set(model.deployments.map((deployment) => deployment.provider))];
}

function extras(model: ModelSettings): string[] {
  const price = publishedPrice(model);
  return price === null ? [] : describeExtras(priceInUsd(price));
}

function prices(model: ModelSettings): [string, string] {
  const price = publishedPrice(model);
  if (price !== null) return [usdPerMillion(price.input), usdPerMillion(price.output)];
  return model.free ? ["free", "free"] : ["–", "–"];
}

function abilities(model: ModelSettings): string[] {
  if (!model.serves.includes("generation")) return [...model.serves];
  return Object.entries(model.capabilities).flatMap(([name, value]) => (value === true ? [name] : []));
}

function asJson(model: ModelSettings): object {
  return {
    id: model.id,
    aliases: model.aliases,
    display_name: model.displayName,
    owned_by: model.ownedBy,
    public: model.public,
    free: model.free,
    serves: model.serves,
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    price: model.price === null ? null : priceInUsd(model.price),
    capabilities: model.capabilities,
    fallbacks: model.fallbacks,
    deployments: model.deployments.map((deployment) => ({
      provider: deployment.provider,
      upstream_model: deployment.upstreamModel,
      dialects: deployment.dialects,
      priority: deployment.priority,
      weight: deployment.weight,
      price: deployment.price === null ? null : priceInUsd(deployment.price),
    })),
  };
}
