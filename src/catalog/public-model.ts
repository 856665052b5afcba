import type { ModelUse } from "../base/models/model-uses.ts";
import type { ModelSettings } from "../config/settings.ts";
import { priceAt, publishedPrice } from "./price.ts";
import { type PriceInUsd, priceInUsd } from "./price-view.ts";

/** A model as clients see it: the interface's fields, plus the ones that Anthropic's clients read. */
export interface PublicModel {
  readonly id: string;
  /** The model's own id, where `id` is an alias. */
  readonly alias_of?: string;
  readonly object: "model";
  readonly type: "model";
  readonly created: number;
  readonly created_at: string;
  readonly owned_by: string;
  readonly display_name: string;
  readonly tagline?: string;
  readonly provider: string;
  /** Absent for a model that does nothing but generate. */
  readonly serves?: readonly ModelUse[];
  readonly context_window: number | null;
  readonly max_output_tokens: number | null;
  readonly max_input_tokens: number | null;
  readonly max_tokens: number | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly pricing?: PublicPricing;
}

/** Tools are priced per thousand calls; `unit` applies to everything else. */
interface PublicPricing extends PriceInUsd {
  readonly currency: "USD";
  readonly unit: "million_tokens";
}

/** The model itself, then its aliases if they are listed. Pickers show display names, so an alias has its own. */
export function publicModels(model: ModelSettings, atMs: number): [PublicModel, ...PublicModel[]] {
  const own = publicModel(model, atMs);
  const aliases = model.listAliases ? model.aliases : [];
  return [own, ...aliases.map((alias) => ({ ...own, id: alias, display_name: alias, alias_of: model.id }))];
}

function publicModel(model: ModelSettings, atMs: number): PublicModel {
  const price = priceAt(publishedPrice(model), atMs);
  return {
    id: model.id,
    object: "model",
    type: "model",
    created: model.created,
    created_at: new Date(model.created * 1000).toISOString().replace(".000Z", "Z"),
    owned_by: model.ownedBy,
    display_name: model.displayName ?? model.id,
    ...(model.tagline === null ? {} : { tagline: model.tagline }),
    provider: model.deployments[0]?.provider ?? model.ownedBy,
    ...(model.serves.some((use) => use !== "generation") ? { serves: model.serves } : {}),
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    max_input_tokens: model.contextWindow,
    max_tokens: model.maxOutputTokens,
    capabilities: model.capabilities,
    ...(price === null ? {} : { pricing: { currency: "USD", unit: "million_tokens", ...priceInUsd(price) } }),
  };
}
