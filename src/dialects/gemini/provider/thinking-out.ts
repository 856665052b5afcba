import type { JsonObject } from "../../../base/json.ts";
import type { DroppedFields } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import type { Effort, IrReasoningSettings } from "../../ir/ir.ts";
import { effortOf } from "../../reasoning/effort.ts";
import { type Thinking, type ThinkingLevel, thinkingLevels, thinkingOf } from "./model.ts";

/** Null if that is left to the model. */
export function writeThinking(
  reasoning: IrReasoningSettings | null,
  target: Target,
  dropped: DroppedFields,
): JsonObject | null {
  if (reasoning === null) return null;
  const thinking = thinkingOf(target);
  if (thinking.style === "none") {
    if (effortOf(reasoning) !== "none") dropped.addNamed("effort");
    return null;
  }
  const config: JsonObject = {};
  if (wantsToSee(reasoning)) config["includeThoughts"] = true;
  if (thinking.style === "level") addLevel(config, effortOf(reasoning), thinking.levels);
  else addBudget(config, reasoning, thinking);
  return Object.keys(config).length === 0 ? null : config;
}

/** A Messages client that turns thinking on sees it by default. */
function wantsToSee(reasoning: IrReasoningSettings): boolean {
  const { visible, thinking } = reasoning;
  if (effortOf(reasoning) === "none") return false;
  return visible ?? (thinking === "enabled" || thinking === "adaptive");
}

/** The next higher level that the model has; the lowest instead of none, because these models always think. */
function addLevel(config: JsonObject, effort: Effort | null, levels: readonly ThinkingLevel[]): void {
  if (effort === null) return;
  const minLevel = thinkingLevels.indexOf(levelFor(effort));
  const level = levels.find((each) => thinkingLevels.indexOf(each) >= minLevel) ?? levels.at(-1);
  if (level !== undefined) config["thinkingLevel"] = level.toUpperCase();
}

function levelFor(effort: Effort): ThinkingLevel {
  if (effort === "none") return "minimal";
  return effort === "xhigh" || effort === "max" ? "high" : effort;
}

/** The budgets that Google's OpenAI-compatible endpoint uses. */
const budgets: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: 32_768,
};

/** Lets the model decide. */
const dynamic = -1;

function addBudget(
  config: JsonObject,
  reasoning: IrReasoningSettings,
  limits: Thinking & { style: "budget" },
): void {
  const { thinking, effort, budgetTokens } = reasoning;
  const isOff = thinking === "disabled" || effort === "none";
  if (isOff) config["thinkingBudget"] = limits.mayBeOff ? 0 : limits.min;
  else if (effort === null && budgetTokens === null) {
    if (thinking !== null) config["thinkingBudget"] = dynamic;
  } else {
    const wished = budgetTokens ?? budgets[effort ?? "medium"];
    config["thinkingBudget"] = Math.min(Math.max(wished, limits.min), limits.max);
  }
}
