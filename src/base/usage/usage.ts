import type { Quantities } from "../money/rates.ts";
import type { ToolCalls } from "./hosted-tools.ts";

/**
 * Tokens of one call, with nothing counted twice. Vendors differ: OpenAI's `prompt_tokens` include cached ones,
 * Anthropic's `input_tokens` do not. Here the three kinds of input are separate and add up to the input.
 */
export interface Usage {
  /** Input that was neither read from nor written to a cache. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of `cacheWriteTokens` that stays for an hour, which may cost more; missing if there is none. */
  readonly cacheWriteHourTokens?: number;
  /** All output, reasoning included. */
  readonly outputTokens: number;
  /** The part of the output that was reasoning; for display, it is never added again. */
  readonly reasoningTokens: number;
  /** Additional model runs, included in the numbers above and priced separately; absent if there are none. */
  readonly rounds?: readonly Round[];
}

/** A run of a model within a call, such as one that compacts the conversation. */
export interface Round {
  /** Another model than the call's; null for the call's own. */
  readonly model: string | null;
  readonly usage: Usage;
}

/** Far above any real call. A larger figure is implausible: it is read as one more than this, and ignored. */
export const maxTokens = 1_000_000_000;

/**
 * A provider's own figures. For a side that is doubtful it reported nothing, or something that is not a count: the
 * plausible part is kept, the rest is 0, and the side is counted locally.
 */
export interface ReportedUsage extends Usage {
  readonly isInputDoubtful?: true;
  readonly isOutputDoubtful?: true;
  /**
   * The usage includes all output so far, and is exact if the stream breaks off: every event reports usage up to and
   * including itself, or the response is complete.
   */
  readonly isUpToDate?: true;
}

/** `measured`: the provider's own figures. `estimated`: counted here from what was really received. */
export type UsageBasis = "measured" | "estimated";

export const noUsage: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

/** For a call whose provider has reported nothing. */
export const unreported: ReportedUsage = { ...noUsage, isInputDoubtful: true, isOutputDoubtful: true };

export function totalInput(usage: Usage): number {
  return usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens;
}

export function totalTokens(usage: Usage): number {
  return totalInput(usage) + usage.outputTokens;
}

/** Whether it reports any tokens: some servers send zeros until they know the numbers. */
export function hasTokens(usage: Usage | null): boolean {
  return usage !== null && totalTokens(usage) > 0;
}

/** Tokens of the response's own run, without its rounds. */
export function answerOf(usage: Usage): Usage {
  const { rounds } = usage;
  return rounds === undefined
    ? usage
    : rounds.reduce((rest, round) => addUsage(rest, round.usage, -1), usage);
}

/** The sum of two calls, or with `sign` -1 what is left of one. Rounds are not carried over. */
export function addUsage(one: Usage, other: Usage, sign: 1 | -1 = 1): Usage {
  const hour = (one.cacheWriteHourTokens ?? 0) + sign * (other.cacheWriteHourTokens ?? 0);
  return {
    inputTokens: one.inputTokens + sign * other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + sign * other.cachedInputTokens,
    cacheWriteTokens: one.cacheWriteTokens + sign * other.cacheWriteTokens,
    ...(hour > 0 ? { cacheWriteHourTokens: hour } : {}),
    outputTokens: one.outputTokens + sign * other.outputTokens,
    reasoningTokens: one.reasoningTokens + sign * other.reasoningTokens,
  };
}

/** Usage of a call in addition to plain tokens at the list price. */
export interface ExtraUsage {
  /** Service tiers that have a price; none for the provider's usual one. */
  readonly tiers: readonly string[];
  readonly calls: ToolCalls;
  /** Parts of the uncached input and of the output that are audio. */
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
  /** Parts that are images; missing if there are none. */
  readonly imageInputTokens?: number;
  readonly imageOutputTokens?: number;
  /** Parts of the cached input; missing if there are none. */
  readonly cachedAudioInputTokens?: number;
  readonly cachedImageInputTokens?: number;
  /** The part of the cache writes that stays for 24 hours. */
  readonly cacheWriteDayTokens?: number;
  /** Other units, by the names of prices; a unit without a price costs nothing. */
  readonly units?: Quantities;
  /** The provider's count was implausible and has been replaced. */
  readonly isDoubtful?: true;
}

/** Extra usage as a provider reports it. A field that it does not report is missing. */
export interface ReportedExtras extends Partial<Omit<ExtraUsage, "tiers">> {
  readonly tiers?: Tiers;
}

/** Shared, because most responses report nothing. */
export const nothingReported: ReportedExtras = {};

export const noCalls: ToolCalls = {};

/** Fields that select how a request is served, and so its price. Responses report them under the same names. */
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

/** The tier of lines of batches. Only the gateway chooses it: no client can ask for it. */
export const batchTier = "batch";

export function isUsualTier(name: string): boolean {
  return usualTiers.has(name);
}
