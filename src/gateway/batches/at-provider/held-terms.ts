import { Catalog } from "../../../catalog/catalog.ts";
import { pinnedPrice } from "../../../catalog/price.ts";
import type { ModelSettings } from "../../../config/settings.ts";
import type { Deployment } from "../../../upstream/upstream.ts";
import type { ActiveConfig } from "../../active-config.ts";
import type { HeldRequest } from "../../exchange/origin.ts";

/** What lines at a provider are charged by: their model with the deployment that they went to, and what a credit is worth. */
interface HeldTerms {
  readonly model: ModelSettings;
  readonly microUsdPerCredit: number;
}

/** As JSON, because the lines may outlive the process. */
export function termsOf(
  { configured: { settings }, pricedAtMs }: Pick<HeldRequest, "configured" | "pricedAtMs">,
  { model, provider, upstreamModel }: Deployment,
): string {
  const deployments = model.deployments.filter(
    (each) => each.provider === provider.settings.name && each.upstreamModel === upstreamModel,
  );
  const terms: HeldTerms = {
    model: {
      ...model,
      price: pinnedPrice(model.price, pricedAtMs),
      deployments: deployments.map((each) => ({ ...each, price: pinnedPrice(each.price, pricedAtMs) })),
    },
    microUsdPerCredit: settings.microUsdPerCredit,
  };
  return JSON.stringify(terms);
}

/** The configuration for lines that were held at these terms: no reload or restart since changes what they cost. */
export function heldConfig(active: ActiveConfig, terms: string): ActiveConfig {
  const { model, microUsdPerCredit }: HeldTerms = JSON.parse(terms);
  const { settings, upstream } = active;
  return {
    settings: { ...settings, microUsdPerCredit },
    catalog: Catalog.from({ models: [model] }),
    upstream,
  };
}
