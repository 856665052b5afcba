import type { Settings } from "../../config/settings.ts";
import type { AttemptSums } from "../../store/store.ts";

type MarkupSettings = Pick<Settings, "catalogRules" | "models">;

/** Converts the ledger's costs to the provider's own prices. The markup is the one configured now. */
export function withoutMarkup(
  attempts: readonly AttemptSums[],
  provider: string,
  { catalogRules, models }: MarkupSettings,
): readonly AttemptSums[] {
  const markup = catalogRules.find((rule) => rule.provider === provider)?.markup ?? 1;
  if (markup === 1) return attempts;
  const catalogModels = models.filter(({ priceSource }) => priceSource === "catalog");
  const deployments = catalogModels.flatMap((model) => model.deployments);
  const marked = new Set(
    deployments.filter((each) => each.provider === provider).map(({ upstreamModel }) => upstreamModel),
  );
  return attempts.map((sums) =>
    marked.has(sums.upstreamModel) ? { ...sums, costNano: sums.costNano / markup } : sums,
  );
}

/** Takes off the markup page by page. */
export async function* pagesWithoutMarkup(
  pages: AsyncIterable<readonly AttemptSums[]>,
  provider: string,
  settings: MarkupSettings,
): AsyncIterable<readonly AttemptSums[]> {
  for await (const attempts of pages) yield withoutMarkup(attempts, provider, settings);
}
