import type { JsonObject } from "../../base/json.ts";
import type { Effort, IrRequest } from "../ir/ir.ts";
import type { Target } from "../provider-dialect.ts";
import type { DroppedFields } from "../translation/field-decisions.ts";
import { openAiTakesSampling } from "../translation/model-traits.ts";

/** OpenAI's reasoning models reject sampling, and only Anthropic documents top_k. */
export function openAiSampling(
  { sampling }: IrRequest,
  effort: Effort | null,
  target: Target,
  dropped: DroppedFields,
): JsonObject {
  const { temperature, topP, topK } = sampling;
  if (topK !== null) dropped.add("top_k");
  if (openAiTakesSampling(target, effort)) {
    return { ...(temperature === null ? {} : { temperature }), ...(topP === null ? {} : { top_p: topP }) };
  }
  if (temperature !== null) dropped.add("temperature");
  if (topP !== null) dropped.add("top_p");
  return {};
}
