import type { JsonObject } from "../../../base/json.ts";
import { numberOf } from "../../json/json-fields.ts";
import { mostOutput, noChanges, type OutputLimit, type PublishedLimits } from "../../output-limit.ts";

const defaultMaxTokens = 1024;

/** Messages has a default, and a limit above the model's is capped instead of rejected. */
export function limitOutput(body: JsonObject, { maxOutputTokens: published }: PublishedLimits): OutputLimit {
  const asked = numberOf(body["max_tokens"]);
  const effective = Math.min(asked ?? defaultMaxTokens, published ?? mostOutput);
  return { maxOutputTokens: effective, changes: effective === asked ? noChanges : { max_tokens: effective } };
}
