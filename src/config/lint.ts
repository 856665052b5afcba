import { type ModelUse, usualUses } from "../base/models/model-uses.ts";
import { unitNames } from "../base/money/rates.ts";
import { otherTokens } from "../base/money/token-price.ts";
import { isCharged, routesFor } from "../dialects/metered/registry.ts";
import { vendorOf } from "../vendors/registry.ts";
import { priceList } from "./dated-prices.ts";
import { durationText } from "./duration.ts";
import type { Places } from "./places.ts";
import { type LoadContext, validFields } from "./problems.ts";
import type { ConfigFile, ModelConfig, PriceConfig, ProviderConfig } from "./schema.ts";
import type { ModelSettings, Settings } from "./settings.ts";

/**
 * Warnings about a provider's settings and its models. A provider without its secret is checked too, because a file may be
 * checked on a machine that does not have the secrets.
 */
export function lintOptions(config: ConfigFile, { places, problems }: LoadContext): string[] {
  const warnings = (config.models ?? []).flatMap((model) =>
    placesOf(model, places.pathOfModel(model.id)).flatMap(({ provider, upstreamModel, path }) => {
      const written = config.providers?.[provider];
      const { kind, ...options } = validFields<ProviderConfig>(written, `providers.${provider}`, problems);
      if (kind === undefined) return [];
      const found = vendorOf(kind).lint?.(options, upstreamModel) ?? [];
      return found.map(({ about, message }) => {
        const at = about === "upstream_model" ? path : `providers.${provider}.${about}`;
        return `${places.describe(at)} ${message}`;
      });
    }),
  );
  return [...new Set(warnings)];
}

/** The places in the file of each provider's name for a model. */
function placesOf(model: ModelConfig, path: string) {
  const own = model.upstream_model === undefined ? `${path}.id` : `${path}.upstream_model`;
  const usual = model.upstream_model ?? model.id;
  if (model.provider !== undefined) return [{ provider: model.provider, upstreamModel: usual, path: own }];
  return (model.deployments ?? []).map(({ provider, upstream_model: name }, index) => ({
    provider,
    upstreamModel: name ?? usual,
    path: name === undefined ? own : `${path}.deployments[${index}].upstream_model`,
  }));
}

/**
 * A call ends at the smaller of two limits: its provider's `timeouts.total` and the request timeout. Warns once about each
 * pair in which one has no effect, however many models share it. A `total` below the default request timeout is not warned about.
 */
export function lintLimits(config: ConfigFile, models: readonly ModelSettings[], places: Places): string[] {
  const written = new Map((config.models ?? []).map((model) => [model.id, model]));
  const warnings = models.flatMap((model) =>
    model.deployments.map(({ provider, timeouts: { totalMs } }) => {
      const writtenTimeouts = written.get(model.id)?.timeouts;
      if (totalMs === 0 || totalMs === model.requestTimeoutMs) return "";
      const own = `${places.pathOfModel(model.id)}.timeouts`;
      const totalPath =
        writtenTimeouts?.total === undefined ? `providers.${provider}.timeouts.total` : `${own}.total`;
      const limitPath = writtenTimeouts?.request === undefined ? "server.request_timeout" : `${own}.request`;
      const isStated = writtenTimeouts?.request !== undefined || config.server?.request_timeout !== undefined;
      const total = `${places.describe(totalPath)} is ${durationText(totalMs)}`;
      const limit = `${isStated ? places.describe(limitPath) : limitPath}, ${durationText(model.requestTimeoutMs)}`;
      if (totalMs > model.requestTimeoutMs) return `${total}, and has no effect beyond ${limit}`;
      return isStated ? `${total}, so calls end before ${limit}` : "";
    }),
  );
  return [...new Set(warnings)].filter((warning) => warning !== "");
}

/** Warns if conversations are enabled but cannot be stored. */
export function lintConversations(
  { routes, responses, retention }: Pick<Settings, "routes" | "responses" | "retention">,
  places: Places,
): string[] {
  if (!routes.conversations) return [];
  const obstacles = [
    ...(routes.stored_responses ? [] : ["routes.stored_responses = false"]),
    ...(responses.state === "gateway" ? [] : [`responses.state = "${responses.state}"`]),
    ...(retention.responseHours > 0 ? [] : ["retention.response_hours = 0"]),
  ];
  if (obstacles.length === 0) return [];
  return [`${places.describe("routes.conversations")} has no effect with ${obstacles.join(" and ")}`];
}

/** Warns of what a model serves that none of its prices is for, and of prices that nothing it serves is charged by. */
export function lintPrices({ models = [] }: ConfigFile, places: Places): string[] {
  return models.flatMap((model) => {
    const uses: readonly ModelUse[] = model.serves ?? usualUses;
    return pricesOf(model, places.pathOfModel(model.id)).flatMap(([price, path]) => [
      ...unpriced(price, uses).map((warning) => `${places.describe(path)} ${warning}`),
      ...unused(price, uses).map(
        (name) =>
          `${places.describe(`${path}.${name}`)} has no effect: the model serves only ${uses.join(", ")}`,
      ),
      ...belowOthers(price).map((warning) => `${places.describe(`${path}.images`)} ${warning}`),
    ]);
  });
}

/** `*` is charged for variants without a row, which may be more expensive than those with one. */
function belowOthers({ images }: PriceConfig): string[] {
  if (typeof images !== "object") return [];
  const { "*": other, ...rows } = images;
  const [highest] = Object.entries(rows).sort(([, one], [, another]) => another - one);
  if (other === undefined || highest === undefined || highest[1] <= other) return [];
  const [name, usd] = highest;
  return [
    `has "*" = ${other}, below "${name}" = ${usd}: variants without a row may cost the provider more; raise "*" to ${usd}, or add their rows`,
  ];
}

function pricesOf({ price, deployments = [] }: ModelConfig, path: string): [PriceConfig, string][] {
  const own = deployments.flatMap((deployment, place) =>
    listedPrices(deployment.price, `${path}.deployments[${place}].price`),
  );
  return [...listedPrices(price, `${path}.price`), ...own];
}

function listedPrices(prices: ModelConfig["price"], path: string): [PriceConfig, string][] {
  return priceList(prices).map((price, place) => [price, Array.isArray(prices) ? `${path}[${place}]` : path]);
}

/** Requests for these are rejected: they would be free by mistake. */
function unpriced(price: PriceConfig, uses: readonly ModelUse[]): string[] {
  const lacking = routesFor(uses).filter(
    (route) => isCharged(route) && !route.prices.some((name) => name in price),
  );
  const warning = lacking.map(
    ({ use, prices }) => `has none of ${prices.join(", ")}, so requests for ${use} are rejected`,
  );
  return [...new Set(warning)];
}

const countedNames = ["input", "output", ...otherTokens] as const;

/** Generation is charged by all kinds of tokens. Importers write prices of 0 where there is none. */
function unused(price: PriceConfig, uses: readonly ModelUse[]): string[] {
  const counted = new Set(
    routesFor(uses).flatMap(({ prices, sidePrices = [] }) => [...prices, ...sidePrices]),
  );
  const names = uses.includes("generation") ? unitNames : [...unitNames, ...countedNames];
  if (uses.includes("generation")) counted.add("requests");
  return names.filter((name) => (price[name] ?? 0) !== 0 && !counted.has(name));
}
