import { plural } from "../../base/text/plural.ts";
import type { Settings } from "../../config/settings.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import type { ProviderKeyCheckView } from "./schema.ts";
import { hasModelList, ModelListUnavailable, vendorModels } from "./vendor-models.ts";

/** Reads each provider's list of models, which costs nothing and needs a valid key. The demo has none. */
export async function checkProviderKeys(settings: Settings): Promise<ProviderKeyCheckView[]> {
  const usable = [...settings.providers.values()].filter(({ kind }) => kind !== "demo");
  const checks = await Promise.all(usable.map(check));
  return [
    ...checks,
    ...skippedProviders(settings).map(({ provider, reason }) => ({
      ...{ provider, base_url: null, state: "skipped" as const },
      ...{ text: `${provider} is skipped: ${reason}`, fix: "set it where the gateway runs" },
    })),
  ];
}

/** Providers that the configuration names and that are not served, because a secret of theirs is missing. */
export function skippedProviders({ named, providers, warnings }: Settings) {
  const skipped = named.providers.filter((name) => !providers.has(name));
  return skipped.map((provider) => {
    const start = `provider "${provider}" is skipped: `;
    const warning = warnings.find((text) => text.startsWith(start));
    return { provider, reason: warning?.slice(start.length) ?? "it has no usable key" };
  });
}

async function check(settings: ProviderSettings): Promise<ProviderKeyCheckView> {
  const { name: provider, baseUrl } = settings;
  const target = { provider, base_url: baseUrl };
  if (!hasModelList(settings)) {
    const text = `${provider} has no list of models to test its key with`;
    return { ...target, state: "unchecked", text, fix: "`sluice models check` sends it a request" };
  }
  try {
    const models = await vendorModels(settings);
    const text = `${provider} accepts the key and lists ${plural(models.length, "model")}`;
    return { ...target, state: "ok", text, fix: null };
  } catch (error) {
    if (!(error instanceof ModelListUnavailable)) throw error;
    const [what, fix = null] = error.message.split("; ", 2);
    return { ...target, state: "failed", text: `${provider} (${baseUrl}): ${what}`, fix };
  }
}
