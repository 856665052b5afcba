import type { Json } from "../../base/json.ts";
import { type Effort, efforts, type IrReasoningSettings } from "../ir/ir.ts";
import type { Target } from "../provider-dialect.ts";
import { refuse } from "../translation/dropped-fields.ts";
import { takesEffortNone } from "../translation/model-traits.ts";

function isEffort(value: Json | undefined): value is Effort {
  return efforts.some((effort) => effort === value);
}

/** Null when the client did not say; a word that is no effort is refused, naming its field. */
export function readEffort(value: Json | undefined, field: string): Effort | null {
  if (value === undefined || value === null) return null;
  return isEffort(value) ? value : refuse(field, `must be one of ${efforts.join(", ")}`);
}

/** Messages' budget of thinking tokens in OpenAI's words, from the most to the least. */
const budgets: readonly [number, Effort][] = [
  [4096, "high"],
  [2048, "medium"],
  [1024, "low"],
];

/** How hard the client wants the model to think, in OpenAI's words; null when it leaves that to the model. */
export function effortOf(settings: IrReasoningSettings): Effort | null {
  if (settings.thinking === "disabled") return "none";
  const { effort, budgetTokens } = settings;
  if (effort !== null || budgetTokens === null) return effort;
  return budgets.find(([least]) => budgetTokens >= least)?.[1] ?? "minimal";
}

/** The same as the target takes it: a model that is not known to take `none` is told nothing. */
export function openAiEffort(settings: IrReasoningSettings, target: Target): Effort | null {
  const effort = effortOf(settings);
  const refused = effort === "none" && !takesEffortNone(target);
  return refused ? null : effort;
}
