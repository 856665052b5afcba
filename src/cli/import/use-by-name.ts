import type { ModelUse } from "../../base/models/model-uses.ts";

/** Infers what a model serves from the naming of large vendors. */
const usesByName: readonly (readonly [RegExp, ModelUse])[] = [
  [nameHas("text-embedding|embed|embedding"), "embeddings"],
  [nameHas("dall-e|gpt-image|imagen"), "images"],
  [nameHas("whisper|transcribe"), "transcriptions"],
  [nameHas("tts"), "speech"],
  [nameHas("rerank"), "rerank"],
  [nameHas("moderation"), "moderations"],
];

function nameHas(words: string): RegExp {
  return new RegExp(`(?:^|[-/.])(?:${words})(?:[-./:\\d]|$)`, "i");
}

/** What a model serves, judging by its name alone. */
export function useByName(name: string): ModelUse {
  const [, use = "generation"] = usesByName.find(([pattern]) => pattern.test(name)) ?? [];
  return use;
}
