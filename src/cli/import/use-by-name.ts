import type { ModelUse } from "../../base/models/model-uses.ts";

/** What the names of the large vendors' models tell of them. */
const usesByName: readonly (readonly [RegExp, ModelUse])[] = [
  [named("text-embedding|embed|embedding"), "embeddings"],
  [named("dall-e|gpt-image|imagen"), "images"],
  [named("whisper|transcribe"), "transcriptions"],
  [named("tts"), "speech"],
  [named("rerank"), "rerank"],
  [named("moderation"), "moderations"],
];

function named(words: string): RegExp {
  return new RegExp(`(?:^|[-/.])(?:${words})(?:[-./:\\d]|$)`, "i");
}

/** What a model serves, where nothing but its name tells. */
export function useByName(name: string): ModelUse {
  const [, use = "generation"] = usesByName.find(([pattern]) => pattern.test(name)) ?? [];
  return use;
}
