import type { Stepwise } from "../base/loop/in-turns.ts";
import type { ModelUse } from "../base/models/model-uses.ts";
import { isCharged, routesFor } from "../dialects/metered/registry.ts";
import type { ProviderSettings } from "../vendors/provider.ts";
import { formatFor, vendorOf } from "../vendors/registry.ts";
import { buildPrices } from "./build-price.ts";
import { decodeAccepted } from "./decode.ts";
import { milliseconds } from "./duration.ts";
import type { LoadContext } from "./problems.ts";
import { overrideTimeouts, type Providers } from "./providers.ts";
import { ownDeploymentSchema, ownModelSchema } from "./schema/model.ts";
import type { ConfigFile, DeploymentConfig, ModelConfig } from "./schema.ts";
import type { DeploymentSettings, ModelSettings, Price, ServerSettings } from "./settings.ts";

/** About 10 ms. */
const modelsPerStep = 1000;

/**
 * Builds the models that can be served, after `checkModels` has accepted them. Deployments of a provider that is left out
 * are dropped, and so is a model without any deployment left.
 */
export function* buildModels(
  config: ConfigFile,
  catalogIds: ReadonlySet<string>,
  { providers, server, context }: ModelContext,
): Stepwise<ModelSettings[]> {
  const { places } = context;
  const models: ModelSettings[] = [];
  for (const [index, model] of (config.models ?? []).entries()) {
    if (index % modelsPerStep === modelsPerStep - 1) yield;
    models.push(...buildModel(model, catalogIds.has(model.id), config, { providers, server, context }));
  }
  for (const model of models) {
    if (model.free || isNeverCharged(model)) continue;
    if (model.deployments.every((deployment) => deployment.price !== null)) continue;
    context.warnings.push(
      `${places.describe(places.pathOfModel(model.id))} has no price, so credit keys cannot use it; set a price or free = true`,
    );
  }
  for (const model of models) {
    for (const warning of unservedUses(model, providers))
      context.warnings.push(`${places.describe(`${places.pathOfModel(model.id)}.serves`)} ${warning}`);
  }
  const unpriced = models.filter((model) => lacksSearchPrice(model, providers)).map(({ id }) => `"${id}"`);
  if (unpriced.length > 0) {
    context.warnings.push(
      `${unpriced.join(", ")}: no price.web_search, so the web search that agents such as Codex offer is dropped from their requests; set one (USD per 1,000 calls)`,
    );
  }
  return withoutMissingFallbacks(models);
}

export interface ModelContext {
  readonly providers: Providers;
  readonly server: Pick<ServerSettings, "requestTimeoutMs">;
  readonly context: LoadContext;
}

/** Whether no request of this use costs anything, so that its models need no price. */
export function isFreeUse(use: ModelUse): boolean {
  const serving = routesFor([use]);
  return serving.length > 0 && !serving.some(isCharged);
}

/** Whether all that it serves is free of charge, as moderations are. */
function isNeverCharged({ serves }: ModelSettings): boolean {
  return serves.every(isFreeUse);
}

/** Whether the missing price disables a web search that the operator may expect to work. */
function lacksSearchPrice(
  { deployments, allow, serves, priceSource }: ModelSettings,
  { usable }: Providers,
): boolean {
  // The catalog has the price of every tool that its vendor runs for the model.
  if (priceSource === "catalog") return false;
  if (allow.includes("tools.web_search") || !serves.includes("generation")) return false;
  return deployments.some(({ provider, price, dialects }) => {
    const { searchesIn = [] } = vendorOf(usable.get(provider)?.kind ?? "");
    const isOffered = dialects.some((dialect) => searchesIn.includes(dialect));
    const { extras } = price ?? {};
    return (
      isOffered && price !== null && (extras?.["web_search"] ?? extras?.["web_search_prompts"]) === undefined
    );
  });
}

/**
 * Uses that a model is configured to serve although its provider has no route for them: every such request would be
 * rejected.
 */
function unservedUses({ serves, deployments }: ModelSettings, { usable }: Providers): string[] {
  return serves.flatMap((use) => {
    const routes = routesFor([use]);
    if (routes.length === 0) return [];
    return deployments.flatMap((deployment) => {
      const settings = usable.get(deployment.provider);
      if (settings === undefined || routes.some((route) => formatFor(route, deployment, settings) !== null))
        return [];
      return `has ${use}, for which provider "${deployment.provider}" has no requests`;
    });
  });
}

export function buildModel(
  model: ModelConfig,
  isOfCatalog: boolean,
  config: ConfigFile,
  { providers, server, context }: ModelContext,
): ModelSettings[] {
  const path = context.places.pathOfModel(model.id);
  const own = decodeAccepted(ownModelSchema, model, path, context);
  const ownLimit = model.timeouts?.request;
  const markup = isOfCatalog ? config.providers?.[model.provider ?? ""]?.markup : undefined;
  const price = buildPrices(model.price, markup);
  const deployments = deploymentsOf(model).flatMap((deployment) =>
    buildDeployment(deployment, { model, price, path, config, providers, context }),
  );
  const [first] = deployments;
  if (first === undefined) return [];
  return [
    {
      ...own,
      ownedBy: own.ownedBy ?? first.provider,
      created: own.created ?? usualCreationSeconds,
      capabilities: own.capabilities ?? {},
      price,
      priceSource: priceSource(deployments, isOfCatalog),
      requestTimeoutMs: ownLimit === undefined ? server.requestTimeoutMs : milliseconds(ownLimit),
      deployments,
    },
  ];
}

function priceSource(
  deployments: readonly DeploymentSettings[],
  isOfCatalog: boolean,
): ModelSettings["priceSource"] {
  if (deployments.every(({ price }) => price === null)) return null;
  return isOfCatalog ? "catalog" : "config";
}

/** 2026-01-01. The model list needs a date, and it should not change with each start. */
const usualCreationSeconds = 1_767_225_600;

/** A model that names its provider has one deployment. */
function deploymentsOf(model: ModelConfig): readonly DeploymentConfig[] {
  return model.deployments ?? (model.provider === undefined ? [] : [{ provider: model.provider }]);
}

interface DeploymentContext {
  readonly model: ModelConfig;
  /** The model's. */
  readonly price: Price | null;
  readonly path: string;
  readonly config: ConfigFile;
  readonly providers: Providers;
  readonly context: LoadContext;
}

/** Precedence: deployment, model, provider, vendor defaults. */
function buildDeployment(
  deployment: DeploymentConfig,
  { model, price: modelPrice, path, config, providers, context }: DeploymentContext,
): DeploymentSettings[] {
  const provider = providers.usable.get(deployment.provider);
  if (provider === undefined) return [];
  const upstreamModel = deployment.upstream_model ?? model.upstream_model ?? model.id;
  const family = deployment.family ?? model.family ?? null;
  const dialect = deployment.dialect ?? model.dialect;
  const usual = vendorOf(provider.kind).modelDefaults?.(family ?? upstreamModel, provider);
  const writtenProvider = config.providers?.[deployment.provider];
  return [
    {
      provider: deployment.provider,
      upstreamModel,
      family,
      dialects:
        dialect === undefined ? dialectsOf(provider, usual?.dialects, writtenProvider?.dialects) : [dialect],
      maxTokensField:
        deployment.max_tokens_field ??
        model.max_tokens_field ??
        writtenProvider?.max_tokens_field ??
        usual?.maxTokensField ??
        provider.maxTokensField,
      ...decodeAccepted(ownDeploymentSchema, deployment, path, context),
      price: buildPrices(deployment.price) ?? modelPrice,
      timeouts: overrideTimeouts(provider.timeouts, model.timeouts),
    },
  ];
}

/** The dialects that a model usually takes, restricted to those that the operator configured for its provider. */
function dialectsOf(
  provider: ProviderSettings,
  usual: ProviderSettings["dialects"] | undefined,
  configured: ProviderSettings["dialects"] | undefined,
): ProviderSettings["dialects"] {
  if (usual === undefined || configured === undefined) return usual ?? provider.dialects;
  const both = usual.filter((dialect) => configured.includes(dialect));
  return both.length === 0 ? configured : both;
}

function withoutMissingFallbacks(models: readonly ModelSettings[]): ModelSettings[] {
  const served = new Set(models.map((model) => model.id));
  return models.map((model) => ({ ...model, fallbacks: model.fallbacks.filter((id) => served.has(id)) }));
}
