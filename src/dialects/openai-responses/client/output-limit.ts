import type { JsonObject } from "../../../base/json.ts";
import { noChanges, type OutputLimit, type PublishedLimits, refuseOverLimit } from "../../output-limit.ts";

const fields = ["max_output_tokens"] as const;

export function limitOutput(body: JsonObject, model: PublishedLimits): OutputLimit {
  return { maxOutputTokens: refuseOverLimit(body, fields, model), changes: noChanges };
}
