import type { JsonObject } from "../../../base/json.ts";
import {
  asIs,
  maxOutput,
  type OutputLimit,
  type PassthroughLimit,
  type PublishedLimits,
} from "../../contract/output-limit.ts";
import { numberOf, objectOf } from "../../json/json-fields.ts";

/** The gateway's default; Anthropic itself requires the field. */
export const defaultMaxTokens = 1024;
/** Anthropic's least budget for thinking, which has to be below `max_tokens`. */
const minBudget = 1024;

/** Messages has a default, and a limit above the model's is capped instead of rejected. */
export function limitOutput(body: JsonObject, { maxOutputTokens: published }: PublishedLimits): OutputLimit {
  const requested = numberOf(body["max_tokens"]);
  const effective = Math.min(requested ?? defaultMaxTokens, published ?? maxOutput);
  if (effective === requested) return asIs(effective);
  const limit = { maxOutputTokens: effective, changes: { max_tokens: effective } };
  const passthrough = limitThinking(body, requested ?? effective, effective);
  return passthrough === null ? limit : { ...limit, passthrough };
}

/** Null if the unchanged thinking budget fits into the lowered limit. */
function limitThinking(body: JsonObject, requested: number, effective: number): PassthroughLimit | null {
  const thinking = objectOf(body["thinking"]);
  const budget = numberOf(thinking?.["budget_tokens"]);
  if (thinking?.["type"] !== "enabled" || budget === null) return null;
  if (effective <= minBudget) {
    return { changes: { thinking: { type: "disabled" } }, dropped: ["thinking"] };
  }
  const lowered = lowerBudget(budget, requested, effective);
  if (lowered === budget) return null;
  return { changes: { thinking: { ...thinking, budget_tokens: lowered } }, dropped: [] };
}

/**
 * Lowers the budget by what the limit was lowered, so that the visible response keeps its room, but to no less than
 * half of the limit.
 */
function lowerBudget(budget: number, requested: number, effective: number): number {
  const roomForResponse = requested - budget;
  const share = Math.max(effective - roomForResponse, Math.floor(effective / 2));
  return Math.min(budget, Math.max(minBudget, Math.min(share, effective - 1)));
}
