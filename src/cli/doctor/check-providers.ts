import { hasModelList, ModelListUnavailable, vendorModels } from "../../admin/models/vendor-models.ts";
import { plural } from "../../base/text/plural.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Reads each provider's list of models, which costs nothing and needs a valid key. */
export function checkProviderKeys(providers: readonly ProviderSettings[]): Promise<readonly Finding[]> {
  return Promise.all(providers.filter(({ kind }) => kind !== "demo").map(check));
}

async function check(settings: ProviderSettings): Promise<Finding> {
  const { name, baseUrl } = settings;
  if (!hasModelList(settings))
    return warning(
      "provider",
      `${name} has no list of models to test its key with`,
      "`sluice models check` sends it a request",
    );
  try {
    const models = await vendorModels(settings);
    return ok("provider", `${name} accepts the key and lists ${plural(models.length, "model")}`);
  } catch (error) {
    if (!(error instanceof ModelListUnavailable)) throw error;
    const [what, fix = null] = error.message.split("; ", 2);
    return problem("provider", `${name} (${baseUrl}): ${what}`, fix);
  }
}
