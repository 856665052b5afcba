import { invalidRequest } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { numberOf } from "./json/json-fields.ts";
import type { BodyChanges } from "./json/patch.ts";

/** What a model publishes about the length of its answers. */
export interface PublishedLimits {
  readonly id: string;
  readonly maxOutputTokens: number | null;
  readonly contextWindow: number | null;
}

export interface OutputLimit {
  /** The most tokens that the call may produce, all choices together. */
  readonly maxOutputTokens: number;
  /** The changes to the body that make the provider apply the limit too. */
  readonly changes: BodyChanges;
  /** What it takes beyond that if the body passes through to a provider of the client's dialect. */
  readonly passthrough?: PassthroughLimit;
}

export interface PassthroughLimit {
  readonly changes: BodyChanges;
  /** Fields that the limit leaves no room for. */
  readonly dropped: readonly string[];
}

/** Assumed for a model that publishes neither an output limit nor a context window. */
const assumedMaxOutput = 16_384;

/** Far above any model's output, and small enough that the sum for a hold stays exact. */
export const mostOutput = 1_000_000_000;

const noChanges: BodyChanges = {};

/** A limit that the provider applies without a change of the body. */
export function asIs(maxOutputTokens: number): OutputLimit {
  return { maxOutputTokens, changes: noChanges };
}

/** The first of these fields that the client set. Throws if any of them exceeds the model's limit. */
export function refuseOverLimit(
  body: JsonObject,
  fields: readonly string[],
  { id, maxOutputTokens, contextWindow }: PublishedLimits,
): number {
  const most = maxOutputTokens ?? mostOutput;
  let asked: number | null = null;
  for (const field of fields) {
    const value = numberOf(body[field]);
    if (value === null) continue;
    if (value > most) {
      throw invalidRequest(
        `${field} is ${value}, but ${id} produces at most ${most} tokens; ask for less.`,
        field,
      );
    }
    asked ??= value;
  }
  return asked ?? maxOutputTokens ?? contextWindow ?? assumedMaxOutput;
}
