import type { Target } from "../contract/provider-dialect.ts";

/**
 * Features that the vendors' models support, inferred from their names. `capabilities` in the config takes precedence;
 * for an unknown name the conservative choice is used.
 */

/** Null if it is not configured. */
export function declared(target: Target, capability: string): boolean | null {
  const value = target.capabilities[capability];
  return typeof value === "boolean" ? value : null;
}

/** The name that identifies the model. */
export function modelName({ family, upstreamModel }: Pick<Target, "family" | "upstreamModel">): string {
  return family ?? upstreamModel;
}

/** `family` is null or absent if it is not configured. */
export function isClaude(model: {
  readonly family?: string | null;
  readonly upstreamModel: string;
}): boolean {
  return (model.family ?? model.upstreamModel).toLowerCase().includes("claude");
}

/** Whether the model accepts reasoning settings; the others return 400 for them. */
export function reasons(target: Target): boolean {
  const generation = claudeGeneration(modelName(target));
  return (
    declared(target, "reasoning") ??
    (isOpenAiReasoner(modelName(target)) || (generation !== null && generation >= 3.7))
  );
}

/** OpenAI's o-series, gpt-5 and later, and gpt-oss; also with a reseller's prefix. */
function isOpenAiReasoner(model: string): boolean {
  return /(?:^|\/)(?:o[1-9]|gpt-(?:[5-9]|\d\d|oss)|codex)/.test(model);
}

/** The effort `none` exists since gpt-5.1; earlier models always reason. */
export function takesEffortNone(target: Target): boolean {
  return declared(target, "effort_none") ?? /(?:^|\/)gpt-(?:5\.[1-9]|[6-9]|\d\d)/.test(modelName(target));
}

/** 4.6 for claude-opus-4-6 and claude-sonnet-4.6, 3.7 for claude-3-7-sonnet; null for other models. */
export function claudeGeneration(model: string): number | null {
  const [, major, minor] = /claude-(?:[a-z]+-)?(\d)(?:[-.](\d)(?!\d))?(?!\d)/.exec(model) ?? [];
  return major === undefined ? null : Number(`${major}.${minor ?? "0"}`);
}

type ClaudeThinking = "adaptive" | "extended" | "none";

/** Up to 4.5 thinking takes a budget, from 4.6 on the model decides (4.6 takes either). */
export function claudeThinking(target: Target): ClaudeThinking {
  if (!reasons(target)) return "none";
  const generation = claudeGeneration(modelName(target));
  return generation !== null && generation >= 4.6 ? "adaptive" : "extended";
}

/** Fable and Mythos always think; thinking can be disabled for all others. */
export function mayDisableThinking(model: string): boolean {
  return !/claude-(?:fable|mythos)/.test(model);
}

/** From 4.7 on Claude rejects temperature, top_p and top_k, even at their defaults. */
export function takesSampling(target: Target): boolean {
  const generation = claudeGeneration(modelName(target));
  return declared(target, "sampling") ?? (generation === null || generation < 4.7);
}

/** If not, a format is forced through a tool. */
export function takesOutputFormat(target: Target): boolean {
  const generation = claudeGeneration(modelName(target));
  const opus41 = /claude-opus-4-1/.test(modelName(target));
  return declared(target, "structured_output") ?? (opus41 || (generation !== null && generation >= 4.5));
}

/** Whether a Messages conversation may contain system messages. */
export function takesSystemMessages(target: Target): boolean {
  return declared(target, "system_messages") ?? false;
}

/** OpenAI's own models from gpt-5.6 on take explicit cache breakpoints. */
export function takesCacheBreakpoints(target: Target): boolean {
  const name = modelName(target);
  return (
    declared(target, "cache_breakpoints") ??
    (target.isStrict && /(?:^|\/)gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/.test(name))
  );
}

/** Whether a chat provider supports Anthropic's cache marks, as some resellers do. */
export function takesCacheControl(target: Target): boolean {
  return declared(target, "cache_control") ?? false;
}

/** OpenAI's reasoning models reject temperature and top_p unless the effort is `none`; gpt-oss takes them. */
export function openAiTakesSampling(target: Target, effort: string | null): boolean {
  const rejects = isOpenAiReasoner(modelName(target)) && !/gpt-oss/.test(modelName(target));
  return declared(target, "sampling") ?? (!rejects || effort === "none");
}

/** From 3 on Gemini rejects a call without a signature. Resellers, who prefix the name, do not pass signatures on. */
export function wantsCallSignatures(target: Target): boolean {
  const isNewGemini = /^(?:models\/)?gemini-(?:[3-9]|\d\d)/.test(modelName(target));
  return declared(target, "thought_signatures") ?? (isNewGemini && !target.isStrict);
}
