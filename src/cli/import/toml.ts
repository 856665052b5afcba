import { tomlString } from "../../config/toml-text.ts";
import type { ImportedModel, ImportedPrice, ImportedRates, ImportedTier } from "./imported.ts";

/** Always with a decimal point, so that all prices in a file look alike. */
function tomlNumber(value: number): string {
  const text = value.toFixed(6).replace(/0+$/, "");
  return text.endsWith(".") ? `${text}0` : text;
}

export function tomlPrice({ extras, tiers, longContext, ...rates }: ImportedPrice): string {
  const parts = tokenRates(rates);
  if (longContext !== undefined) {
    const { above, ...longRates } = longContext;
    parts.push(`long_context = ${inlineTable([`above = ${above}`, ...tokenRates(longRates)])}`);
  }
  for (const [name, usd] of Object.entries(extras ?? {})) parts.push(`${name} = ${tomlNumber(usd)}`);
  if (tiers !== undefined) {
    const tables = Object.entries(tiers).map(([name, tier]) => `${name} = ${inlineTable(tokenPrices(tier))}`);
    parts.push(`tiers = ${inlineTable(tables)}`);
  }
  return inlineTable(parts);
}

function tokenRates({ cacheWrite, cacheWriteHour = null, ...rates }: ImportedRates): string[] {
  const parts = tokenPrices(rates);
  if (cacheWrite !== null) parts.push(`cache_write = ${tomlNumber(cacheWrite)}`);
  if (cacheWriteHour !== null) parts.push(`cache_write_1h = ${tomlNumber(cacheWriteHour)}`);
  return parts;
}

function tokenPrices({ input, output, cachedInput }: ImportedTier): string[] {
  const parts: string[] = [];
  if (input !== null) parts.push(`input = ${tomlNumber(input)}`);
  if (output !== null) parts.push(`output = ${tomlNumber(output)}`);
  if (cachedInput !== null) parts.push(`cached_input = ${tomlNumber(cachedInput)}`);
  return parts;
}

function inlineTable(parts: readonly string[]): string {
  return `{ ${parts.join(", ")} }`;
}

export function tomlCapabilities(capabilities: Readonly<Record<string, boolean>>): string {
  return `{ ${Object.entries(capabilities)
    .map(([name, value]) => `${name} = ${value}`)
    .join(", ")} }`;
}

/** Converts a vendor's name to a valid provider name: lower case, digits, `-` and `_`. */
export function providerName(vendor: string): string {
  const name = vendor.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-");
  return /^[a-z0-9]/.test(name) ? name : `p${name}`;
}

/** `[[models]]` for a configuration, each with the source and the date of its price. */
export function modelsToml(models: readonly ImportedModel[], source: string, day: string): string {
  return models.map((model) => modelToml(model, `${source}, ${day}`)).join("\n");
}

function modelToml(model: ImportedModel, origin: string): string {
  const lines = [
    "[[models]]",
    `id = ${tomlString(model.id)}`,
    `provider = ${tomlString(providerName(model.vendor))}`,
  ];
  if (model.serves !== undefined) lines.push(`serves = [${tomlString(model.serves)}]`);
  if (model.displayName !== null) lines.push(`display_name = ${tomlString(model.displayName)}`);
  if (model.contextWindow !== null) lines.push(`context_window = ${model.contextWindow}`);
  if (model.maxOutputTokens !== null) lines.push(`max_output_tokens = ${model.maxOutputTokens}`);
  const hasPrice = model.serves !== "moderations";
  if (hasPrice) lines.push(`price = ${tomlPrice(model.price)}  # ${origin}`);
  lines.push(`capabilities = ${tomlCapabilities(model.capabilities)}`);
  return `${lines.join("\n")}\n`;
}
