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
  /** What must change in the body so that the provider keeps the limit too. */
  readonly changes: BodyChanges;
}

/** What is assumed of a model that publishes neither an output limit nor a context window. */
const assumedMaxOutput = 16_384;

/** No model produces as much; more could not even be added up for the hold. */
export const mostOutput = 1_000_000_000;

export const noChanges: BodyChanges = {};

/** What the client asks for in the first of these fields that it uses; more than the model's limit is refused. */
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
