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

/** Default of a model's `serves`. */
export const usualUses: readonly ModelUse[] = ["generation"];

/**
 * Whether to show prices of input and output tokens, in USD. A model that generates text has them even if they are 0.
 * For other models 0 can mean that they are charged only by the minute or the image.
 */
export function showsTokenPrice(serves: readonly string[], usd: number): boolean {
  return usd > 0 || serves.includes("generation") || serves.includes("completions");
}

interface Able {
  readonly serves: readonly string[];
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** Its capabilities if it generates text, and whatever else it serves. */
export function abilitiesOf({ serves, capabilities }: Able): string[] {
  const others = serves.filter((use) => use !== "generation");
  if (others.length === serves.length) return others;
  return [...Object.keys(capabilities).filter((name) => capabilities[name] === true), ...others];
}
