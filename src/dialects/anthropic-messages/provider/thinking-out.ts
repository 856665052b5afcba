import type { JsonObject } from "../../../base/json.ts";
import { currentTurnStart, turnPartOf } from "../../ir/current-turn.ts";
import type { Effort, IrMessage, IrReasoningSettings, IrRequest } from "../../ir/ir.ts";
import type { Target } from "../../provider-dialect.ts";
import type { DroppedFields } from "../../translation/dropped-fields.ts";
import { claudeThinking, mayDisableThinking, modelName } from "../../translation/model-traits.ts";

export interface ThinkingFields {
  /** Absent if that is left to the model. */
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

const minBudget = 1024;
const budgets: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: 32_000,
};

/** Claude's thinking settings: since 4.6 an effort, before that a budget below `max_tokens`. */
export function writeThinking(
  request: IrRequest,
  target: Target,
  maxTokens: number,
  dropped: DroppedFields,
): ThinkingFields {
  const { reasoning } = request;
  if (reasoning === null) return {};
  const style = claudeThinking(target);
  if (style === "none") {
    if (!isUnwanted(reasoning)) dropped.add(dropped.names.effort);
    return {};
  }
  if (isUnwanted(reasoning)) {
    const disabling = style === "adaptive" && mayDisableThinking(modelName(target));
    return disabling ? { thinking: { type: "disabled" } } : {};
  }
  if (isForced(request) && mayDisableThinking(modelName(target))) {
    dropped.add(dropped.names.effort);
    return {};
  }
  return style === "adaptive" ? adaptive(reasoning) : extended(request, reasoning, maxTokens);
}

function isUnwanted(reasoning: IrReasoningSettings): boolean {
  return reasoning.effort === "none" || reasoning.thinking === "disabled";
}

/** Anthropic: "Thinking may not be enabled when tool_choice forces tool use." */
export function isForced(request: IrRequest): boolean {
  return request.toolChoice?.type === "required" || request.toolChoice?.type === "tool";
}

/** New models hide their thinking by default. */
function adaptive(reasoning: IrReasoningSettings): ThinkingFields {
  const effort = reasoning.effort === "minimal" ? "low" : reasoning.effort;
  const display = reasoning.visible === true ? { display: "summarized" } : {};
  return { thinking: { type: "adaptive", ...display }, ...(effort === null ? {} : { effort }) };
}

function extended(request: IrRequest, reasoning: IrReasoningSettings, maxTokens: number): ThinkingFields {
  if (maxTokens <= minBudget || continuesUnthought(request)) return {};
  const wished = reasoning.budgetTokens ?? budgets[reasoning.effort ?? "medium"];
  // At most half of the tokens, so that some are left for the answer.
  const budget = Math.max(minBudget, Math.min(wished, Math.floor(maxTokens / 2)));
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

/** A turn that began without Claude's thinking (its client could not keep it, or another model began it) continues without. */
function continuesUnthought({ messages }: IrRequest): boolean {
  const turn = messages.slice(currentTurnStart(messages, turnPartOf));
  const first = turn.find(({ role }) => role === "assistant");
  return first !== undefined && !first.blocks.some(isThinking);
}

function isThinking(block: IrMessage["blocks"][number]): boolean {
  return block.type === "reasoning" && /^anthropic/.test(block.proof?.maker ?? "");
}

/** Claude's effort and the schema of its answer, if the request has one of them. */
export function addOutputConfig(body: JsonObject, { format }: IrRequest, effort: string | undefined): void {
  const schema = format?.type === "json_schema" ? format.schema : null;
  if (effort === undefined && schema === null) return;
  body["output_config"] = {
    ...(effort === undefined ? {} : { effort }),
    ...(schema === null ? {} : { format: { type: "json_schema", schema } }),
  };
}
