import { isObject, type Json } from "../../base/json.ts";
import { isFreeUse } from "../../config/models.ts";
import { tomlString, tomlValue } from "../../config/toml-text.ts";
import type { ImportedModel } from "./imported.ts";

/** Always with a decimal point, so that all prices in a file look alike. */
function tomlNumber(value: number): string {
  const text = value.toFixed(6).replace(/0+$/, "");
  return text.endsWith(".") ? `${text}0` : text;
}

function priceText(price: object): string {
  if (Array.isArray(price)) return `[${price.map(priceText).join(", ")}]`;
  const parts = Object.entries(price).map(([name, value]) => {
    const key = /^[\w-]+$/.test(name) ? name : tomlString(name);
    if (typeof value === "object") return `${key} = ${priceText(value)}`;
    if (typeof value === "string") return `${key} = ${tomlString(value)}`;
    // A number of tokens; all others are prices.
    return `${key} = ${name === "above" ? value : tomlNumber(value)}`;
  });
  return `{ ${parts.join(", ")} }`;
}

/** A TOML table with its fields. Null and empty values are omitted. */
export function tableText(header: string, fields: object, origin = ""): string {
  const lines = Object.entries(fields).flatMap(([name, value]) => {
    if (name === "price" && value !== null) return [`price = ${priceText(value)}${origin}`];
    const content = withoutNulls(value);
    const isEmpty = content === null || (typeof content === "object" && Object.keys(content).length === 0);
    return isEmpty ? [] : [`${name} = ${tomlValue(content)}`];
  });
  return `${[header, ...lines].join("\n")}\n`;
}

function withoutNulls(value: Json): Json {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}

/** Converts a vendor's name to a valid provider name: lower case, digits, `-` and `_`. */
export function providerName(vendor: string): string {
  const name = vendor.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-");
  return /^[a-z0-9]/.test(name) ? name : `p${name}`;
}

/** `[[models]]` for a configuration, each with the source and the date of its price. */
export function modelsToml(models: readonly ImportedModel[], source: string, day: string): string {
  const tables = models.map(({ id, vendor, serves, price, capabilities, ...model }) => {
    const fields = {
      id,
      provider: providerName(vendor),
      serves: serves === undefined ? [] : [serves],
      display_name: model.displayName,
      context_window: model.contextWindow,
      max_output_tokens: model.maxOutputTokens,
      price: serves !== undefined && isFreeUse(serves) ? null : price,
      capabilities,
    };
    return tableText("[[models]]", fields, `  # ${source}, ${day}`);
  });
  return tables.join("\n");
}
