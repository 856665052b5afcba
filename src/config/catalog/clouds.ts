import type { ModelConfig } from "../schema.ts";

/** The models of one vendor's catalog. */
type CatalogOf = (name: string) => readonly ModelConfig[];

/**
 * Clouds that sell models of other vendors at the vendors' list prices, as long as a request can run anywhere in the world. An endpoint
 * of one region costs 10% more: https://platform.claude.com/docs/en/about-claude/pricing
 */
const clouds: Readonly<Record<string, (of: CatalogOf) => readonly ModelConfig[]>> = {
  // Current models have inference profiles only, and Bedrock runs none of Anthropic's own tools.
  bedrock: (of) =>
    of("anthropic").map((model) => ({
      ...without(model, "web_search", "web_fetch", "tool_search"),
      upstream_model: `global.anthropic.${model.id}`,
    })),
  vertex: (of) => [
    ...of("anthropic").map((model) => without(model, "web_fetch")),
    ...of("gemini").filter(({ serves }) => serves === undefined),
  ],
};

/** Null if it is not the name of such a cloud. */
export function cloudCatalog(name: string, of: CatalogOf): readonly ModelConfig[] | null {
  return Object.hasOwn(clouds, name) ? (clouds[name]?.(of) ?? null) : null;
}

export const cloudNames: readonly string[] = Object.keys(clouds);

function without(model: ModelConfig, ...tools: readonly string[]): ModelConfig {
  if (model.price === undefined) return model;
  const kept = Object.entries(model.price).filter(([name]) => !tools.includes(name));
  // Tools that a provider runs are optional parts of a price.
  return { ...model, price: Object.fromEntries(kept) as typeof model.price };
}
