import type { ModelUse } from "../../base/models/model-uses.ts";
import type { PriceConfig } from "../../config/schema.ts";
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
  /** The catalog with its prices; null if there is none. */
  readonly catalog: string | null;
}

/** In the configuration's names. */
export interface ConvertedDeployment {
  readonly provider: string;
  readonly upstream_model: string;
  readonly family: string | null;
  readonly priority: number | null;
  readonly weight: number | null;
  readonly max_concurrent: number | null;
  /** Null if it is not known, or nothing is charged. */
  readonly price: PriceConfig | null;
  /** Runs on the operator's own machines. */
  readonly isFree: boolean;
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
  readonly deployments: ConvertedDeployment[];
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
    ...models.map(modelText),
  ].join("\n");
}

/** `free` is an option of a whole model. Where only some deployments cost something, the others have prices of zero. */
function modelText({ id, deployments, ...model }: ConvertedModel): string {
  const isFree = deployments.every((deployment) => deployment.isFree);
  const zero = model.serves.length === 0 ? { input: 0, output: 0 } : { input: 0 };
  return [
    tableText("[[models]]", { id, free: isFree || null, ...model }),
    ...deployments.map(({ isFree: costsNothing, price, ...deployment }) =>
      tableText("[[models.deployments]]", { ...deployment, price: costsNothing && !isFree ? zero : price }),
    ),
  ].join("");
}

function catalogOf(kind: VendorKind, { patterns, catalog }: Pick<ConvertedProvider, "patterns" | "catalog">) {
  if (patterns.length === 0) return {};
  const models = patterns.includes("*") ? "catalog" : patterns;
  return { models, catalog: kind === "openai-compatible" ? catalog : null };
}
