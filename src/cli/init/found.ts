import type { Environment } from "../../base/system/environment.ts";
import { catalogVendors, hasOwnList } from "../../config/catalog/vendors.ts";
import { defaults } from "../../config/defaults.ts";
import { azureVariables } from "../../config/environment/variables.ts";
import { type FoundVendor, vendorsInEnvironment, whyNotKey } from "../../config/environment/vendors.ts";
import { localBaseUrl } from "../local-base-url.ts";
import type { ExtraProvider, InitChoices } from "./choices.ts";

/** The providers found in the environment, and defaults for the rest: what `--yes` selects. */
export function foundChoices(env: Environment, isLocal: boolean): InitChoices {
  const own = { host: defaults.host, port: defaults.port };
  const { served } = vendorsInEnvironment(env, own);
  return {
    vendors: served
      .filter(({ provider }) => !hasOwnList(provider))
      .map((vendor) => ({ vendor, models: "catalog" as const })),
    extra: [...localServers(env, isLocal), ...extraProviders(env, served)].map((provider) => ({
      ...provider,
      models: [],
    })),
    keepsDemo: true,
    data: null,
    storeVariable: null,
    isOpen: false,
    publicUrl: null,
    signIn: null,
  };
}

/** `isLocal`: also without OLLAMA_HOST. */
function localServers(env: Environment, isLocal: boolean): ExtraProvider[] {
  if (!isLocal && (env["OLLAMA_HOST"] ?? "") === "") return [];
  return [{ provider: "local", variable: null, kind: "openai-compatible", baseUrl: localBaseUrl(env) }];
}

/** Providers whose models are not built in. */
function extraProviders(env: Environment, served: readonly FoundVendor[]): ExtraProvider[] {
  const listed = served.flatMap(({ provider, variable, baseUrl }): ExtraProvider[] => {
    const address = baseUrl ?? catalogVendors[provider]?.baseUrl;
    return hasOwnList(provider) && address != null
      ? [{ provider, variable, kind: "openai-compatible", baseUrl: address }]
      : [];
  });
  const { key, address } = azureVariables;
  const endpoint = addressIn(env, address);
  if (env[key] === undefined || whyNotKey(env[key]) !== null || endpoint === null) return listed;
  return [{ provider: "azure", variable: key, kind: "azure", baseUrl: `${endpoint}/openai/v1` }, ...listed];
}

function addressIn(env: Environment, variable: string): string | null {
  const address = env[variable]?.trim().replace(/\/+$/, "") ?? "";
  return /^https?:\/\/[^@?#]+$/.test(address) ? address : null;
}
