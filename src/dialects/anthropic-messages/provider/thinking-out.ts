import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { DroppedFields } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { currentTurnStart, turnPartOf } from "../../ir/current-turn.ts";
import type { Effort, IrMessage, IrReasoningSettings, IrRequest } from "../../ir/ir.ts";
import { type ClaudeStep, mustNotThink } from "../../reasoning/claude-steps.ts";
import { claudeThinking, mayDisableThinking, modelName, takesSampling } from "../../target/model-traits.ts";

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
    if (!isUnwanted(reasoning)) dropped.addNamed("effort");
    return {};
  }
  if (isUnwanted(reasoning)) {
    const disabling = style === "adaptive" && mayDisableThinking(modelName(target));
    return disabling ? { thinking: { type: "disabled" } } : {};
  }
  if (isForced(request) && mayDisableThinking(modelName(target))) {
    dropped.addNamed("effort");
    return {};
  }
  return style === "adaptive" ? adaptive(reasoning) : extended(request, reasoning, maxTokens);
}

function isUnwanted(reasoning: IrReasoningSettings): boolean {
  return reasoning.effort === "none" || reasoning.thinking === "disabled";
}

/** Anthropic: "Thinking may not be enabled when tool_choice forces tool use." */
export function isForced(request: IrRequest): boolean {
  const choice = request.toolChoice?.type;
  return choice === "required" || choice === "tool" || choice === "hosted";
}

/** New models hide their thinking by default. */
function adaptive(reasoning: IrReasoningSettings): ThinkingFields {
  const effort = reasoning.effort === "minimal" ? "low" : reasoning.effort;
  const display = reasoning.visible === true ? { display: "summarized" } : {};
  return { thinking: { type: "adaptive", ...display }, ...(effort === null ? {} : { effort }) };
}

function extended(request: IrRequest, reasoning: IrReasoningSettings, maxTokens: number): ThinkingFields {
  if (maxTokens <= minBudget || mustDisableThinking(request)) return {};
  const wished = reasoning.budgetTokens ?? budgets[reasoning.effort ?? "medium"];
  // At most half of the tokens, so that some are left for the answer.
  const budget = Math.max(minBudget, Math.min(wished, Math.floor(maxTokens / 2)));
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

/** A turn with a step that lacks Claude's thinking (its client could not keep it, or another model took the step). */
function mustDisableThinking({ messages }: IrRequest): boolean {
  const turn = messages.slice(currentTurnStart(messages, turnPartOf));
  return mustNotThink(turn.filter(({ role }) => role === "assistant").map(stepOf));
}

function stepOf({ blocks }: IrMessage): ClaudeStep {
  const first = blocks.find(isWritten);
  return {
    startsThinking: first?.type === "reasoning",
    callIds: blocks.flatMap((block) => (block.type === "tool_call" ? [block.id] : [])),
  };
}

/** Reasoning of others is dropped, and text that is only white space. */
function isWritten(block: IrMessage["blocks"][number]): boolean {
  if (block.type === "reasoning") return /^anthropic/.test(block.signature?.maker ?? "");
  return block.type !== "text" || block.text.trim() !== "";
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

export function isThinking(thinking: Json | undefined): boolean {
  return isObject(thinking) && thinking["type"] !== "disabled";
}

/** Claude takes a temperature of at most 1, not together with top_p, and neither with thinking. The others take both. */
export function takenSampling(
  { sampling }: IrRequest,
  target: Target,
  thinks: boolean,
  dropped: DroppedFields,
  isClaude = true,
): IrRequest["sampling"] {
  const { temperature, topP, topK } = sampling;
  const isFree = takesSampling(target) && !thinks;
  const takesTopP = isFree && (temperature === null || !isClaude);
  if (temperature !== null && !isFree) dropped.addNamed("temperature");
  if (topP !== null && !takesTopP) dropped.addNamed("topP");
  if (topK !== null && !isFree) dropped.addNamed("topK");
  return {
    temperature: temperature !== null && isFree ? Math.min(Math.max(temperature, 0), 1) : null,
    topP: takesTopP ? topP : null,
    topK: isFree ? topK : null,
  };
}
