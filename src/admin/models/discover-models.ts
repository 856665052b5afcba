import { type KnownBy, KnownModels } from "../../config/catalog/known-model.ts";
import { catalogAt } from "../../config/catalog/vendors.ts";
import type { ModelConfig, PriceConfig } from "../../config/schema.ts";
import type { Settings } from "../../config/settings.ts";
import type { VendorModel } from "../../vendors/model-list.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { isPrivateAddress } from "../../wire/local-address.ts";
import { ModelListUnavailable, vendorModels } from "./vendor-models.ts";

/**
 * `served`: listed and served here. `priced`: not served, with a known price. `unpriced`: no known price. `gone`:
 * served here, but no longer listed by the provider.
 */
export type DiscoveredState = "served" | "priced" | "unpriced" | "gone";

export interface DiscoveredModel {
  readonly provider: string;
  /** The provider's name for it. */
  readonly model: string;
  readonly state: DiscoveredState;
  /** In USD, as in the configuration; null if none is known, or the model is free. */
  readonly price: PriceConfig | null;
  /** The source of the price: a catalog entry, or the provider's own list. */
  readonly by: KnownBy | "provider" | null;
}

export interface Discovery {
  readonly models: readonly DiscoveredModel[];
  /** Configuration entries for the `priced` models. */
  readonly entries: readonly ModelConfig[];
  readonly failures: readonly { readonly provider: string; readonly problem: string }[];
  /** Providers at private addresses with models that may be free, which their key makes doubtful. */
  readonly undeclared: readonly string[];
}

/** Each provider's `catalog` option, where it differs from the default of its kind. */
export type CatalogNames = Readonly<Record<string, string | undefined>>;

/** Requests the model lists of all these providers at once. One failure does not hide the others. */
export async function discoverModels(
  providers: readonly ProviderSettings[],
  settings: Settings,
  catalogs: CatalogNames,
): Promise<Discovery> {
  const parts = await Promise.all(
    providers.map(async (provider): Promise<Discovery> => {
      try {
        const listed = await vendorModels(provider);
        return compare(provider, listed, settings, catalogs[provider.name] ?? catalogOf(provider));
      } catch (error) {
        if (!(error instanceof ModelListUnavailable)) throw error;
        return {
          models: [],
          entries: [],
          failures: [{ provider: provider.name, problem: error.message }],
          undeclared: [],
        };
      }
    }),
  );
  return {
    models: parts.flatMap(({ models }) => models),
    entries: parts.flatMap(({ entries }) => entries),
    failures: parts.flatMap(({ failures }) => failures),
    undeclared: parts.flatMap(({ undeclared }) => undeclared),
  };
}

function compare(
  provider: ProviderSettings,
  listed: readonly VendorModel[],
  { models }: Settings,
  catalogName: string,
): Discovery {
  const { name } = provider;
  const deployments = models.flatMap((model) => model.deployments.filter((each) => each.provider === name));
  const configured = new Set(deployments.map(({ upstreamModel }) => upstreamModel));
  const known = new KnownModels(catalogName, provider.options.location ?? provider.options.region ?? null);
  const taken = new Set(models.flatMap(({ id, aliases }) => [id, ...aliases]));
  const found: DiscoveredModel[] = [];
  const entries: ModelConfig[] = [];
  const unique = new Map(listed.map((model) => [model.id, model]));
  const served = new Set(
    [...unique.keys()].filter((id) => configured.has(id) || configured.has(untagged(id))),
  );
  for (const [id, model] of unique) {
    const priced = priceOf(model, known);
    const entry = served.has(id) ? null : entryFor(model, provider, priced);
    found.push({
      provider: name,
      model: id,
      state: served.has(id) ? "served" : entry === null ? "unpriced" : "priced",
      price: priced?.price ?? null,
      by: priced?.by ?? null,
    });
    if (entry === null) continue;
    const isFree = !taken.has(entry.id);
    taken.add(entry.id);
    const named = isFree ? entry : { ...entry, id: `${name}/${entry.id}`, upstream_model: id };
    const alias = untagged(id);
    const isShort = alias !== id && isLocal(provider) && !taken.has(alias);
    if (isShort) taken.add(alias);
    entries.push(isShort ? { ...named, aliases: [alias] } : named);
  }
  const gone = [...configured].filter((id) => !unique.has(id) && !unique.has(`${id}${latest}`));
  const isUndeclared = isLocal(provider) && found.some(({ state }) => state === "unpriced");
  return {
    models: [
      ...found,
      ...gone.map((model) => ({ ...unpriced, provider: name, model, state: "gone" as const })),
    ],
    entries,
    failures: [],
    undeclared: isUndeclared ? [name] : [],
  };
}

const unpriced = { price: null, by: null };

/** A provider of OpenAI's API is known by its address. */
function catalogOf({ kind, baseUrl }: ProviderSettings): string {
  return kind === "openai-compatible" ? (catalogAt(baseUrl) ?? kind) : kind;
}

interface FoundPrice {
  readonly price: PriceConfig;
  readonly by: KnownBy | "provider";
  /** The catalog's entry; null for a price from the provider's list. */
  readonly entry: ModelConfig | null;
}

/**
 * The catalog's price for the model itself, else the provider's own price, else the price by the rule of the model's
 * family.
 */
function priceOf({ id, price }: VendorModel, known: KnownModels): FoundPrice | null {
  const found = known.find(id);
  if (price !== null && (found === null || found.by === "family"))
    return { price, by: "provider", entry: null };
  if (found === null) return null;
  const { model, by } = found;
  return { price: model.price, by, entry: by === "id" ? model : { ...renamed(model), id } };
}

/** An entry under the name that the provider lists is not a twin of anything. */
function renamed({ upstream_model: _, listed: __, display_name: ___, ...model }: ModelConfig): ModelConfig {
  return model;
}

/** Ollama lists models with a tag, and accepts the name without this default tag. */
const latest = ":latest";

function untagged(id: string): string {
  return id.endsWith(latest) ? id.slice(0, -latest.length) : id;
}

function isLocal({ kind, baseUrl }: ProviderSettings): boolean {
  return kind === "openai-compatible" && isPrivateAddress(baseUrl);
}

/** Null if neither the catalog nor the provider has a price. A self-hosted server without a key is free. */
function entryFor(
  { id, contextWindow, maxOutputTokens, serves, capabilities }: VendorModel,
  provider: ProviderSettings,
  priced: FoundPrice | null,
): ModelConfig | null {
  const { name } = provider;
  if (priced !== null && priced.entry !== null) return { ...priced.entry, provider: name };
  const isOwn = isLocal(provider);
  const isFree = isOwn && provider.apiKeys.length === 0;
  if (priced === null && !isFree) return null;
  return {
    id,
    provider: name,
    ...(contextWindow === null ? {} : { context_window: contextWindow }),
    ...(maxOutputTokens === null ? {} : { max_output_tokens: maxOutputTokens }),
    ...(priced === null
      ? { free: true }
      : { price: priced.price, price_checked: new Date().toISOString().slice(0, 10) }),
    ...(serves === undefined ? {} : { serves: [...serves] }),
    ...(capabilities === undefined ? {} : { capabilities }),
    // Such a server may have one slot for all, and read a long prompt for minutes.
    ...(isOwn && serves === undefined ? { timeouts: { request: "1h" } } : {}),
  };
}
