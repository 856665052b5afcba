import type { Environment } from "../../base/system/environment.ts";
import { defaults } from "../../config/defaults.ts";
import { otherVendors } from "../../config/environment/variables.ts";
import { vendorsInEnvironment, whyNotKey } from "../../config/environment/vendors.ts";
import { localBaseUrl } from "../local-base-url.ts";
import type { ExtraProvider, InitChoices } from "./choices.ts";

/** The providers found in the environment, and defaults for the rest: what `--yes` selects. */
export function foundChoices(env: Environment, isLocal: boolean): InitChoices {
  const own = { host: defaults.host, port: defaults.port };
  const { served } = vendorsInEnvironment(env, own);
  return {
    vendors: served.map((vendor) => ({ vendor, models: "catalog" as const })),
    extra: [...localServers(env, isLocal), ...extraProviders(env)].map((provider) => ({
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

function extraProviders(env: Environment): ExtraProvider[] {
  return Object.entries(otherVendors).flatMap(([variable, vendor]): ExtraProvider[] => {
    const { provider, baseUrlVariable } = vendor;
    const value = env[variable];
    if (value === undefined || whyNotKey(value) !== null) return [];
    if (provider !== "azure") {
      const baseUrl = addressIn(env, baseUrlVariable) ?? vendor.baseUrl;
      return [{ provider, variable, kind: "openai-compatible", baseUrl }];
    }
    const endpoint = addressIn(env, "AZURE_OPENAI_ENDPOINT");
    return endpoint === null ? [] : [{ provider, variable, kind: "azure", baseUrl: `${endpoint}/openai/v1` }];
  });
}

function addressIn(env: Environment, variable: string): string | null {
  const address = env[variable]?.trim().replace(/\/+$/, "") ?? "";
  return /^https?:\/\/[^@?#]+$/.test(address) ? address : null;
}
