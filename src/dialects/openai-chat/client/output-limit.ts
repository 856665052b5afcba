import type { JsonObject } from "../../../base/json.ts";
import {
  asIs,
  choicesOf,
  type OutputLimit,
  type PublishedLimits,
  refuseOverLimit,
} from "../../output-limit.ts";

const fields = ["max_completion_tokens", "max_tokens"] as const;

export function limitOutput(body: JsonObject, model: PublishedLimits): OutputLimit {
  return asIs(refuseOverLimit(body, fields, model) * choicesOf(body));
}
