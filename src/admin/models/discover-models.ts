import { shippedCatalog } from "../../config/catalog/shipped.ts";
import type { ModelConfig } from "../../config/schema.ts";
import type { Settings } from "../../config/settings.ts";
import type { VendorModel } from "../../vendors/model-list.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { isPrivateAddress } from "../../wire/private-address.ts";
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
        return compare(provider, listed, settings, catalogs[provider.name] ?? provider.kind);
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
  const catalog = new Map(
    (shippedCatalog(catalogName) ?? []).map((model) => [model.upstream_model ?? model.id, model]),
  );
  const taken = new Set(models.flatMap(({ id, aliases }) => [id, ...aliases]));
  const found: DiscoveredModel[] = [];
  const entries: ModelConfig[] = [];
  const unique = new Map(listed.map((model) => [model.id, model]));
  const served = new Set(
    [...unique.keys()].filter((id) => configured.has(id) || configured.has(untagged(id))),
  );
  for (const [id, model] of unique) {
    const entry = served.has(id) ? null : entryFor(model, provider, catalog.get(id));
    found.push({
      provider: name,
      model: id,
      state: served.has(id) ? "served" : entry === null ? "unpriced" : "priced",
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
    models: [...found, ...gone.map((model) => ({ provider: name, model, state: "gone" as const }))],
    entries,
    failures: [],
    undeclared: isUndeclared ? [name] : [],
  };
}

/** Ollama lists a model with its tag, and takes the name without this one. */
const latest = ":latest";

function untagged(id: string): string {
  return id.endsWith(latest) ? id.slice(0, -latest.length) : id;
}

function isLocal({ kind, baseUrl }: ProviderSettings): boolean {
  return kind === "openai-compatible" && isPrivateAddress(baseUrl);
}

/** Null if neither the catalog nor the provider has a price. A self-hosted server without a key is free. */
function entryFor(
  { id, contextWindow, maxOutputTokens, price, serves, capabilities }: VendorModel,
  provider: ProviderSettings,
  shipped: ModelConfig | undefined,
): ModelConfig | null {
  const { name } = provider;
  if (shipped !== undefined) return { ...shipped, provider: name };
  const isOwn = isLocal(provider);
  const isFree = isOwn && provider.apiKeys.length === 0;
  if (price === null && !isFree) return null;
  return {
    id,
    provider: name,
    ...(contextWindow === null ? {} : { context_window: contextWindow }),
    ...(maxOutputTokens === null ? {} : { max_output_tokens: maxOutputTokens }),
    ...(price === null ? { free: true } : { price, price_checked: new Date().toISOString().slice(0, 10) }),
    ...(serves === undefined ? {} : { serves: [...serves] }),
    ...(capabilities === undefined ? {} : { capabilities }),
    // Such a server may have one slot for all, and read a long prompt for minutes.
    ...(isOwn && serves === undefined ? { timeouts: { request: "1h" } } : {}),
  };
}
