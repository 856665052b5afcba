/** Fields that choose how a request is served, and so its price. Answers report them under the same names. */
export const tierFields = ["service_tier", "speed", "inference_geo"] as const;

export type TierField = (typeof tierFields)[number];

/** The tier by each field that names one. */
export type Tiers = { readonly [Field in TierField]?: string };

/** Names of what the list price is for, or that leave the choice to the provider. */
const usualTiers: ReadonlySet<string> = new Set([
  ...["auto", "default", "standard", "standard_only"],
  // Groq's usual tier, and the places of Anthropic's models that may run anywhere, or do not say where they run.
  ...["on_demand", "global", "not_available"],
]);

export function isUsualTier(name: string): boolean {
  return usualTiers.has(name);
}
