import type { ModelUse } from "../../base/models/model-uses.ts";
import type { VendorKind } from "../../vendors/registry.ts";
import type { LiteLlmTimeouts } from "./litellm-timeouts.ts";
import { tableText } from "./toml.ts";

export interface ConvertedProvider {
  readonly name: string;
  readonly kind: VendorKind;
  /** In the configuration's names; null for options that are not set. */
  readonly settings: Readonly<Record<string, string | null>>;
  readonly timeouts: LiteLlmTimeouts;
  /** Patterns of models from the built-in catalog. */
  readonly patterns: string[];
  /** The catalog to use, if the kind has none. */
  readonly catalog: string;
}

/** In the configuration's names and writing order, as are its deployments. */
export interface ConvertedModel {
  readonly id: string;
  /** Empty for a model that generates. */
  readonly serves: readonly ModelUse[];
  readonly context_window: number | null;
  readonly max_output_tokens: number | null;
  readonly capabilities: Readonly<Record<string, boolean>>;
  readonly aliases: string[];
  readonly fallbacks: string[];
  readonly deployments: object[];
}

/**
 * Formats a configuration as if written by hand: providers first, then models with their deployments. `requestTimeout` is
 * in seconds; null for the default.
 */
export function configToml(
  requestTimeout: number | null,
  providers: readonly ConvertedProvider[],
  models: readonly ConvertedModel[],
): string {
  return [
    ...(requestTimeout === null ? [] : [tableText("[server]", { request_timeout: requestTimeout })]),
    ...providers.map(({ name, kind, settings, timeouts: { streamFirstByte, total }, ...provider }) => {
      const timeouts = { stream_first_byte: streamFirstByte, total };
      return tableText(`[providers.${name}]`, { kind, ...settings, ...catalogOf(kind, provider), timeouts });
    }),
    ...models.map(({ deployments, ...model }) =>
      [
        tableText("[[models]]", model),
        ...deployments.map((deployment) => tableText("[[models.deployments]]", deployment)),
      ].join(""),
    ),
  ].join("\n");
}

function catalogOf(kind: VendorKind, { patterns, catalog }: Pick<ConvertedProvider, "patterns" | "catalog">) {
  if (patterns.length === 0) return {};
  const models = patterns.includes("*") ? "catalog" : patterns;
  return { models, catalog: kind === "openai-compatible" ? catalog : null };
}
