import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import {
  addUsage,
  maxTokens,
  type ReportedExtras,
  type ReportedUsage,
  totalInput,
  type Usage,
  unreported,
} from "../../base/usage/usage.ts";

/**
 * Shared by the dialects: reads the usage that a provider reports. An explicit 0 is valid; a figure that is missing,
 * negative, fractional or not a number makes its side doubtful. Nothing is counted twice.
 */

/** For dialects whose input count includes the tokens read from and written to a cache. */
export function inclusiveUsage(
  input: Json | undefined,
  output: Json | undefined,
  cached?: Json,
  written?: Json,
  reasoning?: Json,
): ReportedUsage | null {
  if (!isTokenCount(input) && !isTokenCount(output)) return null;
  const inputSide = new UsageSide();
  const all = inputSide.figure(input);
  const cachedInputTokens = inputSide.part(cached, all);
  // Cached and written tokens may overlap; the overlap is counted once.
  const cacheWriteTokens = Math.min(inputSide.part(written, all), all - cachedInputTokens);
  const inputTokens = all - cachedInputTokens - cacheWriteTokens;
  return reportUsage({ inputTokens, cachedInputTokens, cacheWriteTokens }, inputSide, output, reasoning);
}

/** For responses without output tokens. Null if their input is missing, or 0, which no text has. */
export function inputUsage(input: Json | undefined): ReportedUsage | null {
  return isTokenCount(input) && input > 0 ? inclusiveUsage(input, 0) : null;
}

/** Fills in figures that were not reported and cannot be counted. */
export function withUnreported(
  reported: ReportedUsage | null,
  { input, output }: { readonly input: number; readonly output: number },
): ReportedUsage {
  const found = reported ?? unreported;
  return {
    ...found,
    ...(found.isInputDoubtful === true ? { inputTokens: input } : {}),
    ...(found.isOutputDoubtful === true ? { outputTokens: output } : {}),
  };
}

/** The part of `all` with this name, or the rest that is not reported as text. */
export function partBesideText(all: number, name: string, details: Json | undefined): number {
  const { [name]: part, text_tokens: text } = detailsOf(details);
  if (isTokenCount(part)) return part;
  return isTokenCount(text) ? Math.max(0, all - text) : all;
}

/** The sum of two reports, doubtful if one of them is. */
export function addReported(one: ReportedUsage, other: ReportedUsage): ReportedUsage {
  return {
    ...addUsage(one, other),
    ...(one.isInputDoubtful || other.isInputDoubtful ? { isInputDoubtful: true } : {}),
    ...(one.isOutputDoubtful || other.isOutputDoubtful ? { isOutputDoubtful: true } : {}),
  };
}

/** Combines both sides and flags the doubtful ones. */
export function reportUsage(
  input: Pick<Usage, "inputTokens" | "cachedInputTokens" | "cacheWriteTokens" | "cacheWriteHourTokens">,
  inputSide: UsageSide,
  output: Json | undefined,
  reasoning: Json | undefined,
): ReportedUsage {
  const outputSide = new UsageSide();
  const answered = outputSide.figure(output);
  const reasoningTokens = outputSide.detail(reasoning);
  if (reasoningTokens > answered) outputSide.isDoubtful = true;
  // What is hidden of the reasoning cannot be counted here.
  const outputTokens = Math.max(answered, reasoningTokens);
  const usage = { ...input, outputTokens, reasoningTokens };
  if (!inputSide.isDoubtful && !outputSide.isDoubtful) return usage;
  return {
    ...usage,
    ...(inputSide.isDoubtful ? { isInputDoubtful: true } : {}),
    ...(outputSide.isDoubtful ? { isOutputDoubtful: true } : {}),
  };
}

/** Reads the counts of one side, input or output, and remembers whether one of them was invalid. */
export class UsageSide {
  isDoubtful = false;

  figure(value: Json | undefined): number {
    if (isTokenCount(value)) return value > maxTokens ? maxTokens + 1 : value;
    this.isDoubtful = true;
    return 0;
  }

  /** A detail that is included in `whole` and cannot be larger. */
  part(value: Json | undefined, whole: number): number {
    const part = this.detail(value);
    if (part <= whole) return part;
    this.isDoubtful = true;
    return 0;
  }

  /** Most providers omit some details: that means 0 and is not doubtful. */
  detail(value: Json | undefined): number {
    return value == null ? 0 : this.figure(value);
  }
}

/** The usage that a stream has reported so far. */
export interface ReportedSoFar {
  /** The latest usage. */
  readonly partialUsage: ReportedUsage | null;
  /** Highest reported output, without what a first event claims before any output. */
  readonly reportedOutput: number;
}

/**
 * A stream reports running totals, so output never decreases. A later input replaces an earlier one, which may have been an estimate.
 * A zero does not: some servers send 0 for what they reported before.
 */
export function runningTotal(before: ReportedSoFar, usage: ReportedUsage): ReportedUsage {
  const { partialUsage: known, reportedOutput } = before;
  const total = usage.outputTokens >= reportedOutput ? usage : { ...usage, outputTokens: reportedOutput };
  if (known === null || totalInput(usage) > 0 || usage.isInputDoubtful) return total;
  return totalInput(known) === 0 ? total : { ...total, ...inputOf(known) };
}

function inputOf(reported: ReportedUsage): Partial<ReportedUsage> {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWriteHourTokens: hour = 0 } = reported;
  return {
    ...{ inputTokens, cachedInputTokens, cacheWriteTokens },
    ...(hour > 0 ? { cacheWriteHourTokens: hour } : {}),
    ...(reported.isInputDoubtful ? { isInputDoubtful: true } : {}),
  };
}

/**
 * Merges usage that is reported piece by piece: later values replace earlier ones, except missing ones and nulls. False
 * if there are none.
 */
export function mergeReported(merged: JsonObject, later: Json | undefined): boolean {
  if (!isObject(later)) return false;
  for (const name in later) if (later[name] !== null) merged[name] = later[name];
  return true;
}

/** Whether a figure is a valid number of tokens, even if implausibly high. */
export function isTokenCount(value: Json | undefined): value is number {
  return typeof value === "number" && value >= 0 && (Number.isInteger(value) || value > maxTokens);
}

const nothing: JsonObject = {};

/** An empty object if the details are missing. */
export function detailsOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : nothing;
}

/** Reads the usage that a response reports, from a complete response or an event of a stream. */
export interface UsageReader {
  /** Null if it reports neither input nor output. */
  usageIn(answer: JsonObject): ReportedUsage | null;
  /** Its service tier, hosted tools and audio. */
  readExtras(answer: JsonObject): ReportedExtras;
}
