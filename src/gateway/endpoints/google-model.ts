import type { ModelUse } from "../../base/models/model-uses.ts";
import type { PublicModel } from "../../catalog/public-model.ts";
import type { ModelSettings } from "../../config/settings.ts";

const methods: { readonly [Use in ModelUse]?: readonly string[] } = {
  generation: ["generateContent", "countTokens"],
  embeddings: ["embedContent", "batchEmbedContents"],
};

/** A model in Google's format. */
export function googleModel(
  { id, display_name: displayName, tagline }: PublicModel,
  { contextWindow, maxOutputTokens, serves, capabilities }: ModelSettings,
) {
  return {
    name: `models/${id}`,
    version: "1",
    displayName,
    description: tagline,
    inputTokenLimit: contextWindow ?? undefined,
    outputTokenLimit: maxOutputTokens ?? undefined,
    supportedGenerationMethods: serves.flatMap((use) => methods[use] ?? []),
    thinking: capabilities["reasoning"] === true,
  };
}
