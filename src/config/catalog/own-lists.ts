import { isObject } from "../../base/json.ts";
import type { ConfigFile } from "../schema.ts";
import type { Settings } from "../settings.ts";
import { patternsOf } from "./expand.ts";
import { hasOwnList } from "./vendors.ts";

/** Whether a provider serves models that only its own list has. */
export function servesOwnList(settings: Settings): boolean {
  return ownListProviders(settings).length > 0;
}

/** The first provider of each catalog that is read from the vendor. */
export function ownListProviders({
  written,
}: Settings): readonly (readonly [catalog: string, provider: string])[] {
  // The cast only names the fields: each is tested below before it is used.
  const { providers } = written as ConfigFile;
  const found = new Map<string, string>();
  for (const [name, provider] of Object.entries(isObject(providers) ? providers : {})) {
    if (!isObject(provider) || patternsOf(provider.models) === null) continue;
    const catalog = provider.catalog ?? provider.kind;
    if (typeof catalog === "string" && hasOwnList(catalog) && !found.has(catalog)) found.set(catalog, name);
  }
  return [...found];
}
