import type { ImportedModel, ImportedPrice, ImportedTier } from "./imported.ts";

/** Basic strings of TOML are written as JSON's are, but for DEL, which JSON leaves as it is. */
export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007F");
}

/** A whole number gets its point, since prices are fractions for whoever reads the file. */
function tomlNumber(value: number): string {
  const text = value.toFixed(6).replace(/0+$/, "");
  return text.endsWith(".") ? `${text}0` : text;
}

export function tomlPrice({ input, output, cachedInput, cacheWrite, extras, tiers }: ImportedPrice): string {
  const parts = tokenPrices({ input, output, cachedInput });
  if (cacheWrite !== null) parts.push(`cache_write = ${tomlNumber(cacheWrite)}`);
  for (const [name, usd] of Object.entries(extras ?? {})) parts.push(`${name} = ${tomlNumber(usd)}`);
  if (tiers !== undefined) {
    const tables = Object.entries(tiers).map(([name, tier]) => `${name} = ${inlineTable(tokenPrices(tier))}`);
    parts.push(`tiers = ${inlineTable(tables)}`);
  }
  return inlineTable(parts);
}

function tokenPrices({ input, output, cachedInput }: ImportedTier): string[] {
  const parts = [`input = ${tomlNumber(input)}`, `output = ${tomlNumber(output)}`];
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

/** The vendor's name as a provider's: lower case, digits, `-` and `_`. */
export function providerName(vendor: string): string {
  const name = vendor.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-");
  return /^[a-z0-9]/.test(name) ? name : `p${name}`;
}

/** `[[models]]` to put into a configuration, each saying where its price is from and of what day. */
export function modelsToml(models: readonly ImportedModel[], source: string, day: string): string {
  return models.map((model) => modelToml(model, `${source}, ${day}`)).join("\n");
}

function modelToml(model: ImportedModel, origin: string): string {
  const lines = [
    "[[models]]",
    `id = ${tomlString(model.id)}`,
    `provider = ${tomlString(providerName(model.vendor))}`,
  ];
  if (model.displayName !== null) lines.push(`display_name = ${tomlString(model.displayName)}`);
  if (model.contextWindow !== null) lines.push(`context_window = ${model.contextWindow}`);
  if (model.maxOutputTokens !== null) lines.push(`max_output_tokens = ${model.maxOutputTokens}`);
  lines.push(`price = ${tomlPrice(model.price)}  # ${origin}`);
  if (model.remark !== null) lines.push(`# ${model.remark}`);
  lines.push(`capabilities = ${tomlCapabilities(model.capabilities)}`);
  return `${lines.join("\n")}\n`;
}
