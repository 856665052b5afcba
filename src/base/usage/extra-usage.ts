import type { Quantities } from "../money/rates.ts";
import type { ToolCalls } from "./hosted-tools.ts";
import type { Tiers } from "./service-tiers.ts";

/** What a call used beside plain tokens at the list price. */
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
