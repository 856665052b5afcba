import { quirksOf } from "../../vendors/compatible/known-servers.ts";
import { catalogVendors } from "../catalog/vendors.ts";
import type { FoundVendor } from "./vendors.ts";

/** The providers found in the environment as TOML, to serve without a file and for `config init`. */
export function environmentToml(found: readonly FoundVendor[]): string {
  return found.map((vendor) => providerToml(vendor)).join("\n");
}

/** `chosen`: patterns, or everything that the vendor sells. */
export function providerToml(
  { provider, variable, baseUrl }: FoundVendor,
  chosen: readonly string[] | "catalog" = "catalog",
): string {
  const { kind, baseUrl: usual, unpriced } = catalogVendors[provider] ?? { kind: provider, baseUrl: null };
  const models = chosen === "catalog" ? (unpriced ?? chosen) : chosen;
  const isCompatible = kind === "openai-compatible";
  const address = baseUrl ?? usual;
  // Quirks are looked up by the server's usual host, so another address has to state them.
  const quirks = isCompatible && baseUrl !== null ? quirksOf(usual ?? undefined) : [];
  return [
    `[providers.${provider}]`,
    `kind = ${JSON.stringify(kind)}`,
    ...(address === null ? [] : [`base_url = ${JSON.stringify(address)}`]),
    ...(quirks.length === 0 ? [] : [`quirks = ${JSON.stringify(quirks)}`]),
    `api_key = "env:${variable}"`,
    `models = ${JSON.stringify(models)}`,
    ...(unpriced === undefined ? [] : ['unpriced = "budget-only"']),
    ...(isCompatible ? [`catalog = ${JSON.stringify(provider)}`] : []),
    "",
  ].join("\n");
}
