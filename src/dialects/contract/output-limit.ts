import { invalidRequest } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { numberOf } from "../json/json-fields.ts";
import type { BodyChanges } from "../json/patch.ts";

/** A model's published limits on its responses. */
export interface PublishedLimits {
  readonly id: string;
  readonly maxOutputTokens: number | null;
  readonly contextWindow: number | null;
}

export interface OutputLimit {
  /** Maximum tokens that the call can produce, all choices together. */
  readonly maxOutputTokens: number;
  /** The changes to the body that make the provider apply the limit too. */
  readonly changes: BodyChanges;
  /** The additional limit if the body passes through to a provider of the client's dialect. */
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
export const maxOutput = 1_000_000_000;

const noChanges: BodyChanges = {};

/** A limit that the provider applies without a change of the body. */
export function asIs(maxOutputTokens: number): OutputLimit {
  return { maxOutputTokens, changes: noChanges };
}

/** llama.cpp's own name, which counts there before the dialect's. It may be -1: no limit. */
const ownName = "n_predict";

/**
 * The highest limit among these fields: providers differ in which of them they read. `others` are names that only some
 * of them read, before the dialect's. Throws if one of them exceeds the model's.
 */
export function rejectOverLimit(
  body: JsonObject,
  fields: readonly string[],
  model: PublishedLimits,
  others: readonly string[] = [],
): number {
  const limits = [ownName, ...others].map((name) => {
    rejectFraction(name, body[name] ?? null);
    return limitIn(body, name, model) ?? 0;
  });
  const [lowest, highest] = [Math.min(...limits), Math.max(...limits)];
  let requested = 0;
  for (const field of fields) requested = Math.max(requested, limitIn(body, field, model) ?? 0);
  return requested === 0 || lowest < 0 ? Math.max(maxOutputOf(model), highest) : Math.max(requested, highest);
}

/** No schema checks it, and some servers read a number from a text. */
function rejectFraction(name: string, value: Json): void {
  if (value === null || (typeof value === "number" && Number.isSafeInteger(value))) return;
  throw invalidRequest(`\`${name}\` must be a whole number.`, name);
}

function limitIn(body: JsonObject, field: string, { id, maxOutputTokens }: PublishedLimits): number | null {
  const value = numberOf(body[field]);
  const highest = maxOutputTokens ?? maxOutput;
  if (value === null || value <= highest) return value;
  throw invalidRequest(`\`${field}\` is ${value}, but model "${id}" allows at most ${highest}.`, field);
}

export function maxOutputOf({ maxOutputTokens, contextWindow }: PublishedLimits): number {
  return maxOutputTokens ?? contextWindow ?? assumedMaxOutput;
}

export const maxChoices = 128;
/** llama.cpp has its own name, which takes precedence over `n` there. */
export const shownChoices: readonly string[] = ["n", "n_cmpl"];
/** `best_of` generates more choices than are returned. */
const allChoices: readonly string[] = [...shownChoices, "best_of"];

/** Each choice may reach the limit, and each is billed. */
export function choicesOf(body: JsonObject, fields = allChoices): number {
  let highest = 1;
  for (const field of fields) {
    const requested = body[field] ?? 1;
    const isValid =
      typeof requested === "number" &&
      Number.isSafeInteger(requested) &&
      requested >= 1 &&
      requested <= maxChoices;
    if (!isValid) throw invalidRequest(`\`${field}\` must be a whole number from 1 to ${maxChoices}.`, field);
    highest = Math.max(highest, requested);
  }
  return highest;
}
