import type { JsonObject } from "../../../base/json.ts";
import { fieldOf, spellingOf } from "../../../base/proto-json.ts";
import {
  asIs,
  maxOutput,
  maxOutputOf,
  type OutputLimit,
  type PublishedLimits,
} from "../../contract/output-limit.ts";
import { numberOf, objectOf } from "../../json/json-fields.ts";

/**
 * A limit above the model's is lowered: clients know Gemini's models, and not the one that an alias leads to. Each candidate may
 * reach it.
 */
export function limitOutput(body: JsonObject, model: PublishedLimits): OutputLimit {
  const field = spellingOf(body, "generationConfig");
  const config = objectOf(body[field]) ?? {};
  const limit = spellingOf(config, "maxOutputTokens");
  const candidates = numberOf(fieldOf(config, "candidateCount")) ?? 1;
  const requested = numberOf(config[limit]);
  if (requested === null) return asIs(maxOutputOf(model) * candidates);
  const effective = Math.min(requested, model.maxOutputTokens ?? maxOutput);
  if (effective === requested) return asIs(effective * candidates);
  return {
    maxOutputTokens: effective * candidates,
    changes: { [field]: { [limit]: effective } },
  };
}
