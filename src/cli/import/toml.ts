import { tomlString } from "../../config/toml-text.ts";
import type { ImportedModel } from "./imported.ts";

/** Always with a decimal point, so that all prices in a file look alike. */
function tomlNumber(value: number): string {
  const text = value.toFixed(6).replace(/0+$/, "");
  return text.endsWith(".") ? `${text}0` : text;
}

/** A price, or capabilities. */
export function inlineTable(values: object): string {
  const parts = Object.entries(values).map(([name, value]) => {
    const key = /^[\w-]+$/.test(name) ? name : tomlString(name);
    if (typeof value === "object") return `${key} = ${inlineTable(value)}`;
    // A number of tokens; all other numbers are prices.
    const isPrice = typeof value === "number" && name !== "above";
    return `${key} = ${isPrice ? tomlNumber(value) : value}`;
  });
  return `{ ${parts.join(", ")} }`;
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
  if (hasPrice) lines.push(`price = ${inlineTable(model.price)}  # ${origin}`);
  lines.push(`capabilities = ${inlineTable(model.capabilities)}`);
  return `${lines.join("\n")}\n`;
}
