import type { PriceConfig } from "../../config/schema.ts";
import { tomlString } from "../../config/toml-text.ts";
import type { VendorKind } from "../../vendors/registry.ts";
import type { LiteLlmTimeouts } from "./litellm-timeouts.ts";
import { inlineTable } from "./toml.ts";

export interface ConvertedProvider {
  readonly name: string;
  readonly kind: VendorKind;
  /** By their names in the configuration; null for those that it does not have. */
  readonly settings: Readonly<Record<string, string | null>>;
  readonly timeouts: LiteLlmTimeouts;
}

export interface ConvertedDeployment {
  readonly provider: string;
  readonly upstreamModel: string;
  /** The model's own name, if the file tells. */
  readonly family: string | null;
  readonly weight: number | null;
  readonly priority: number | null;
  readonly maxConcurrent: number | null;
  readonly price: PriceConfig | null;
}

export interface ConvertedModel {
  readonly id: string;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly capabilities: Readonly<Record<string, boolean>>;
  readonly aliases: string[];
  readonly fallbacks: string[];
  readonly deployments: ConvertedDeployment[];
}

/**
 * Formats a configuration as if written by hand: providers first, then models with their deployments. `maxExchange` is
 * in seconds; null for the default.
 */
export function configToml(
  maxExchange: number | null,
  providers: readonly ConvertedProvider[],
  models: readonly ConvertedModel[],
): string {
  const server = maxExchange === null ? [] : [block(["[server]", `max_exchange = ${maxExchange}`])];
  return [...server, ...providers.map(providerToml), ...models.map(modelToml)].join("\n");
}

function providerToml({ name, kind, settings, timeouts }: ConvertedProvider): string {
  const lines = [`[providers.${name}]`, `kind = ${tomlString(kind)}`];
  for (const [setting, value] of Object.entries(settings)) {
    if (value !== null) lines.push(`${setting} = ${tomlString(value)}`);
  }
  const limits = [
    ...(timeouts.streamFirstByte === null ? [] : [`stream_first_byte = ${timeouts.streamFirstByte}`]),
    ...(timeouts.total === null ? [] : [`total = ${timeouts.total}`]),
  ];
  if (limits.length > 0) lines.push(`timeouts = { ${limits.join(", ")} }`);
  return block(lines);
}

function modelToml(model: ConvertedModel): string {
  const lines = ["[[models]]", `id = ${tomlString(model.id)}`];
  if (model.contextWindow !== null) lines.push(`context_window = ${model.contextWindow}`);
  if (model.maxOutputTokens !== null) lines.push(`max_output_tokens = ${model.maxOutputTokens}`);
  if (Object.keys(model.capabilities).length > 0) {
    lines.push(`capabilities = ${inlineTable(model.capabilities)}`);
  }
  if (model.aliases.length > 0) lines.push(`aliases = [${model.aliases.map(tomlString).join(", ")}]`);
  if (model.fallbacks.length > 0) lines.push(`fallbacks = [${model.fallbacks.map(tomlString).join(", ")}]`);
  for (const deployment of model.deployments) lines.push(...deploymentLines(deployment));
  return block(lines);
}

function deploymentLines(deployment: ConvertedDeployment): string[] {
  const { provider, upstreamModel, family, weight, priority, maxConcurrent, price } = deployment;
  const lines = ["[[models.deployments]]", `provider = ${tomlString(provider)}`];
  lines.push(`upstream_model = ${tomlString(upstreamModel)}`);
  if (family !== null) lines.push(`family = ${tomlString(family)}`);
  if (priority !== null) lines.push(`priority = ${priority}`);
  if (weight !== null) lines.push(`weight = ${weight}`);
  if (maxConcurrent !== null) lines.push(`max_concurrent = ${maxConcurrent}`);
  if (price !== null) lines.push(`price = ${inlineTable(price)}`);
  return lines;
}

function block(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}
