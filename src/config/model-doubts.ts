import { vendorOf } from "../vendors/registry.ts";
import { type LoadContext, validFields } from "./problems.ts";
import type { ConfigFile, ModelConfig, ProviderConfig } from "./schema.ts";

/**
 * Warnings about a provider's settings and its models. A provider without its secret is checked too, because a file may be
 * checked on a machine that does not have the secrets.
 */
export function warnOfDoubts(config: ConfigFile, { places, problems }: LoadContext): string[] {
  const warnings = (config.models ?? []).flatMap((model) =>
    placesOf(model, places.pathOfModel(model.id)).flatMap(({ provider, upstreamModel, path }) => {
      const written = config.providers?.[provider];
      const { kind, ...options } = validFields<ProviderConfig>(written, `providers.${provider}`, problems);
      if (kind === undefined) return [];
      const doubts = vendorOf(kind).doubtsAbout?.(options, upstreamModel) ?? [];
      return doubts.map(({ about, message }) => {
        const at = about === "upstream_model" ? path : `providers.${provider}.${about}`;
        return `${places.describe(at)} ${message}`;
      });
    }),
  );
  return [...new Set(warnings)];
}

/** Where each provider's name for a model is written. */
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
