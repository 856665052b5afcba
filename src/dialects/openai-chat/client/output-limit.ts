import { invalidRequest } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { asIs, type OutputLimit, type PublishedLimits, refuseOverLimit } from "../../output-limit.ts";

const fields = ["max_completion_tokens", "max_tokens"] as const;
const maxChoices = 128;

export function limitOutput(body: JsonObject, model: PublishedLimits): OutputLimit {
  return asIs(refuseOverLimit(body, fields, model) * choices(body));
}

/** Each choice may reach the limit, and each is billed. */
function choices(body: JsonObject): number {
  const n = body["n"] ?? 1;
  if (typeof n === "number" && Number.isSafeInteger(n) && n >= 1 && n <= maxChoices) return n;
  throw invalidRequest(`n must be a whole number from 1 to ${maxChoices}.`, "n");
}
