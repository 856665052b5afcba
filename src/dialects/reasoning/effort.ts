import type { Json } from "../../base/json.ts";
import { reject } from "../contract/field-decisions.ts";
import type { Target } from "../contract/provider-dialect.ts";
import { type Effort, efforts, type IrReasoningSettings } from "../ir/ir.ts";
import { takesEffortNone } from "../target/model-traits.ts";

/** Null if the client did not set it. Throws for an unknown effort. */
export function readEffort(value: Json | undefined, field: string): Effort | null {
  if (value === undefined || value === null) return null;
  const known = efforts.find((effort) => effort === value);
  return known ?? reject(field, `must be one of ${efforts.join(", ")}`);
}

/** Messages' budgets of thinking tokens and the efforts they correspond to, in descending order. */
const budgets: readonly [number, Effort][] = [
  [4096, "high"],
  [2048, "medium"],
  [1024, "low"],
];

/** The requested effort, by OpenAI's names; null if the client leaves it to the model. */
export function effortOf(settings: IrReasoningSettings): Effort | null {
  if (settings.thinking === "disabled") return "none";
  const { effort, budgetTokens } = settings;
  if (effort !== null || budgetTokens === null) return effort;
  return budgets.find(([minTokens]) => budgetTokens >= minTokens)?.[1] ?? "minimal";
}

/** The effort to send to a target; null instead of `none` if the model is not known to accept that. */
export function openAiEffort(settings: IrReasoningSettings, target: Target): Effort | null {
  const effort = effortOf(settings);
  const isUnsupported = effort === "none" && !takesEffortNone(target);
  return isUnsupported ? null : effort;
}
