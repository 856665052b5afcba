import type { ToolCalls } from "./hosted-tools.ts";

/** What a call used beside plain tokens at the list price. */
export interface ExtraUsage {
  /** The service tier; null for the provider's usual one. */
  readonly tier: string | null;
  readonly calls: ToolCalls;
  /** Parts of the input and the output that are audio. */
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
}

/** The same as far as a provider reports it; `tier` is missing where it says nothing about it. */
export interface ReportedExtras extends Partial<ExtraUsage> {}

/** Shared, because most answers report nothing. */
export const nothingReported: ReportedExtras = {};

export const noCalls: ToolCalls = {};
