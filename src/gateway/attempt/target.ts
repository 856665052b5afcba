import { assert } from "../../base/assert.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Target } from "../../dialects/contract/provider-dialect.ts";
import {
  type ClientDialectName,
  clientDialect,
  isSpoken,
  type ProviderDialectName,
  providerDialect,
} from "../../dialects/registry.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { vendorOf } from "../../vendors/registry.ts";

/** The facts about a deployment that a translation needs. */
export function targetOf(deployment: Deployment, toward: ProviderDialectName): Target {
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

/**
 * The client's own dialect if the provider speaks it, else the richest one that it speaks. A request with stop
 * sequences prefers a dialect that has them.
 */
export function dialectToward(
  client: ClientDialectName,
  spoken: readonly ProviderDialectName[],
  body: JsonObject,
): ProviderDialectName {
  return isSpoken(client, spoken) ? client : richestToward(client, spoken, body);
}

function richestToward(
  client: ClientDialectName,
  spoken: readonly ProviderDialectName[],
  body: JsonObject,
): ProviderDialectName {
  const able = hasStopSequences(client, body) ? spoken.filter(takesStopSequences) : spoken;
  const found = richest(able) ?? richest(spoken);
  assert(found !== undefined, "every provider speaks some dialect");
  return found;
}

function hasStopSequences(client: ClientDialectName, body: JsonObject): boolean {
  const stops = body[clientDialect(client).fieldNames.stop];
  return typeof stops === "string" || (Array.isArray(stops) && stops.length > 0);
}

function takesStopSequences(name: ProviderDialectName): boolean {
  return providerDialect(name).takesStopSequences;
}

function richest(names: readonly ProviderDialectName[]): ProviderDialectName | undefined {
  let found = names[0];
  for (const name of names) {
    if (found !== undefined && providerDialect(name).richness > providerDialect(found).richness) found = name;
  }
  return found;
}
