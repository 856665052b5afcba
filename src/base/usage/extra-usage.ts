import type { Quantities } from "../money/rates.ts";
import type { ToolCalls } from "./hosted-tools.ts";

/** What a call used in addition to plain tokens at the list price. */
export interface ExtraUsage {
  /** Service tiers that have a price; none for the provider's usual one. */
  readonly tiers: readonly string[];
  readonly calls: ToolCalls;
  /** Parts of the input and the output that are audio. */
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
  /** Parts that are images; missing for a call that is not metered by them. */
  readonly imageInputTokens?: number;
  readonly imageOutputTokens?: number;
  /** What else is counted, by the names of prices; what has no price costs nothing. */
  readonly units?: Quantities;
  /** A count of the provider's cannot be, and another one stands in its place. */
  readonly isDoubtful?: true;
}

/** Extra usage as a provider reports it. A field that it does not report is missing. */
export interface ReportedExtras extends Partial<Omit<ExtraUsage, "tiers">> {
  readonly tiers?: Tiers;
}

/** Shared, because most answers report nothing. */
export const nothingReported: ReportedExtras = {};

export const noCalls: ToolCalls = {};

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
