import type { Target } from "../../dialects/provider-dialect.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { vendorOf } from "../../vendors/registry.ts";

/** A deployment stays as it is until the configuration is loaded again, which makes another one. */
const targets = new WeakMap<Deployment, Partial<Record<ProviderDialectName, Target>>>();

/** What a translation needs to know of a deployment. */
export function targetOf(deployment: Deployment, toward: ProviderDialectName): Target {
  const known = targets.getOrInsertComputed(deployment, () => ({}));
  known[toward] ??= newTarget(deployment, toward);
  return known[toward];
}

function newTarget(deployment: Deployment, toward: ProviderDialectName): Target {
  const { settings } = deployment.provider;
  const vendor = vendorOf(settings.kind);
  const traits = vendor.modelTraits?.(deployment.family ?? deployment.upstreamModel);
  return {
    dialect: providerDialect(toward),
    upstreamModel: deployment.upstreamModel,
    family: deployment.family ?? undefined,
    provider: settings.name,
    isStrict: traits?.isStrict ?? vendor.strictDialects.includes(toward),
    maxOutputTokens: deployment.model.maxOutputTokens,
    maxTokensField: deployment.maxTokensField,
    quirks: settings.quirks.length > 0 ? settings.quirks : traits?.quirks,
    streamUsage: settings.streamUsage,
    marksCache: deployment.model.cache === "auto",
    capabilities: { ...vendor.capabilities, ...deployment.model.capabilities },
    ...(vendor.requestFields === undefined ? {} : { fields: vendor.requestFields(settings.options, toward) }),
  };
}
