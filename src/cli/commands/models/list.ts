import type { Command } from "commander";
import { publishedPrice } from "../../../catalog/price.ts";
import { describeExtras, priceInUsd } from "../../../catalog/price-view.ts";
import type { ModelSettings } from "../../../config/settings.ts";
import { type ConfigOptions, examples, newConfigCommand } from "../../help.ts";
import { loadAndWarn } from "../../load-settings.ts";
import { count, usdPerMillion } from "../../terminal/format.ts";
import { table } from "../../terminal/table.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

export function modelsListCommand(terminal: Terminal): Command {
  return newConfigCommand("list", "List the models of the configuration with their prices")
    .addHelpText(
      "after",
      examples(["sluice models list", ""], ["sluice models list --json | jq '.[].id'", ""]),
    )
    .action(async (options: ConfigOptions) => {
      const settings = await loadAndWarn(options, terminal);
      if (options.json) printJson(settings.models.map(asJson), terminal);
      else terminal.print(asTable(settings.models, terminal));
    });
}

function asTable(models: readonly ModelSettings[], terminal: Terminal): string {
  const hasExtras = models.some((model) => extras(model).length > 0);
  const rows = models.map((model) => [
    terminal.style.bold(model.id),
    providersOf(model).join(", "),
    model.contextWindow === null ? "–" : count(model.contextWindow),
    model.maxOutputTokens === null ? "–" : count(model.maxOutputTokens),
    ...prices(model),
    abilities(model).join(" "),
    ...(hasExtras ? [extras(model).join(", ")] : []),
  ]);
  const columns = [
    { title: "MODEL", elastic: true },
    { title: "PROVIDER", elastic: true },
    { title: "CONTEXT", align: "right" },
    { title: "OUTPUT", align: "right" },
    { title: "$ IN", align: "right" },
    { title: "$ OUT", align: "right" },
    { title: "CAN" },
    ...(hasExtras ? [{ title: "$ EXTRA", elastic: true } as const] : []),
  ] as const;
  const legend = terminal.style.dim(
    "Tokens; prices in USD per million tokens, those of tools per 1,000 calls.",
  );
  return `${table(columns, rows, terminal)}\n\n${legend}`;
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
