import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { ReportedUsage, Usage } from "../../base/usage.ts";

/**
 * What the dialects share in reading a provider's own figures. An explicit 0 is a figure; what is missing, negative,
 * fractional or no number is not, and makes its side doubtful. Nothing is counted twice.
 */

/** No call comes near this; a provider that reports more has reported nonsense. */
const maxTokens = 1_000_000_000;

/** Where the input includes what came from and went to a cache. */
export function inclusiveUsage(
  input: Json | undefined,
  output: Json | undefined,
  cached: Json | undefined,
  written: Json | undefined,
  reasoning: Json | undefined,
): ReportedUsage | null {
  if (!isTokenCount(input) && !isTokenCount(output)) return null;
  const inputSide = new UsageSide();
  const all = inputSide.figure(input);
  const cachedInputTokens = inputSide.part(cached, all);
  // What is written to a cache may have been read from it before, and is counted once.
  const cacheWriteTokens = Math.min(inputSide.part(written, all), all - cachedInputTokens);
  const inputTokens = all - cachedInputTokens - cacheWriteTokens;
  return reportUsage({ inputTokens, cachedInputTokens, cacheWriteTokens }, inputSide, output, reasoning);
}

/** Puts both sides together, and says which of them is doubtful. */
export function reportUsage(
  input: Pick<Usage, "inputTokens" | "cachedInputTokens" | "cacheWriteTokens">,
  inputSide: UsageSide,
  output: Json | undefined,
  reasoning: Json | undefined,
): ReportedUsage {
  const outputSide = new UsageSide();
  const outputTokens = outputSide.figure(output);
  const reasoningTokens = outputSide.part(reasoning, outputTokens);
  const usage = { ...input, outputTokens, reasoningTokens };
  if (!inputSide.isDoubtful && !outputSide.isDoubtful) return usage;
  return {
    ...usage,
    ...(inputSide.isDoubtful ? { isInputDoubtful: true } : {}),
    ...(outputSide.isDoubtful ? { isOutputDoubtful: true } : {}),
  };
}

/** Reads the figures of one side, input or output, and remembers whether one of them is no count. */
export class UsageSide {
  isDoubtful = false;

  figure(value: Json | undefined): number {
    if (isTokenCount(value)) return value;
    this.isDoubtful = true;
    return 0;
  }

  /** A detail that is part of a whole, and so no larger. */
  part(value: Json | undefined, whole: number): number {
    const part = this.detail(value);
    if (part <= whole) return part;
    this.isDoubtful = true;
    return 0;
  }

  /** Most providers leave some details out: that is a 0, and not a doubt. */
  detail(value: Json | undefined): number {
    return value == null ? 0 : this.figure(value);
  }
}

export function isTokenCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= maxTokens;
}

const nothing: JsonObject = {};

/** Details that are missing are read as an empty object. */
export function detailsOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : nothing;
}
