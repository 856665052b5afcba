/** What a model may be configured to serve (`serves`). */
export const modelUses = [
  "generation",
  "embeddings",
  "rerank",
  "completions",
  "moderations",
  "images",
  "transcriptions",
  "speech",
] as const;

export type ModelUse = (typeof modelUses)[number];

/** A model that does not say serves this. */
export const usualUses: readonly ModelUse[] = ["generation"];
