import type { Target } from "../../contract/provider-dialect.ts";
import { declared, modelName } from "../../target/model-traits.ts";

/**
 * Features that Gemini's models support, inferred from their names. `capabilities` in the config takes precedence. A
 * name without a version, such as gemini-flash-latest, counts as the newest model.
 */

const newest = Number.POSITIVE_INFINITY;

interface NamedModel {
  /** 2.5 for gemini-2.5-flash-lite and models/gemini-2.5-pro. */
  readonly version: number;
  /** Google's open models on the same API: without system instructions, thinking and signatures. */
  readonly isGemma: boolean;
}

/** By name; limited by the number of configured models. */
const known = new Map<string, NamedModel>();

function named(target: Target): NamedModel {
  return known.getOrInsertComputed(modelName(target), (name) => {
    const version = /gemini-(\d+(?:\.\d+)?)/.exec(name)?.[1];
    return { version: version === undefined ? newest : Number(version), isGemma: /(?:^|\/)gemma/.test(name) };
  });
}

function versionOf(target: Target): number {
  return named(target).version;
}

export function isGemma(target: Target): boolean {
  return named(target).isGemma;
}

/** Vertex has no call ids, and earlier models reject the field. */
export function takesCallIds(target: Target): boolean {
  return declared(target, "function_ids") ?? (versionOf(target) >= 3 && !isGemma(target));
}

/** From version 3 on, a call without a signature is rejected. */
export function wantsSignatures(target: Target): boolean {
  return declared(target, "thought_signatures") ?? (versionOf(target) >= 3 && !isGemma(target));
}

/** Whether the result of a tool can contain images. */
export function takesMediaInResults(target: Target): boolean {
  return versionOf(target) >= 3;
}

/** Earlier models take a subset of OpenAPI's schemas only. */
export function takesJsonSchema(target: Target): boolean {
  return declared(target, "json_schema") ?? versionOf(target) >= 2.5;
}

/** Earlier models reject a response format together with functions. */
export function takesFormatWithTools(target: Target): boolean {
  return versionOf(target) >= 3;
}

/** Files at any address, not only Google's own. */
export function takesAddresses(target: Target): boolean {
  return versionOf(target) >= 2.5;
}

/** Only the Gemini API has tiers in the body, and only Vertex has labels. */
export function takesServiceTier(target: Target): boolean {
  return declared(target, "service_tier") ?? true;
}

export function takesLabels(target: Target): boolean {
  return declared(target, "labels") ?? false;
}

export type Thinking =
  | { readonly style: "none" }
  | { readonly style: "level"; readonly levels: readonly ThinkingLevel[] }
  | { readonly style: "budget"; readonly min: number; readonly max: number; readonly mayBeOff: boolean };

export const thinkingLevels = ["minimal", "low", "medium", "high"] as const;
export type ThinkingLevel = (typeof thinkingLevels)[number];

/** Models before 2.5 reject thinking settings, 2.5 has budgets, later ones have levels. */
export function thinkingOf(target: Target): Thinking {
  const version = versionOf(target);
  const isReasoner = declared(target, "reasoning") ?? (version >= 2.5 && !isGemma(target));
  if (!isReasoner) return { style: "none" };
  return version < 3
    ? budgetOf(modelName(target))
    : { style: "level", levels: levelsOf(modelName(target), version) };
}

function budgetOf(model: string): Thinking {
  if (/-pro/.test(model)) return { style: "budget", min: 128, max: 32_768, mayBeOff: false };
  return { style: "budget", min: /-lite/.test(model) ? 512 : 1, max: 24_576, mayBeOff: true };
}

function levelsOf(model: string, version: number): readonly ThinkingLevel[] {
  if (/-flash-lite-image/.test(model)) return ["minimal", "high"];
  if (/-pro/.test(model) && version < 3.1) return ["low", "high"];
  return /-flash/.test(model) && version < 3.7 ? thinkingLevels : ["low", "medium", "high"];
}
