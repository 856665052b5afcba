import { tableOf } from "../../../base/collections/table.ts";
import type { GatewayError } from "../../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ReportedUsage } from "../../../base/usage/usage.ts";
import { malformedResponse } from "../../errors/failure.ts";
import { unknownFinish } from "../../ir/blocks.ts";
import type { FinishReason, IrFinish } from "../../ir/ir.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { serviceTier } from "../../usage/extra-usage.ts";
import { isTokenCount, reportUsage, type UsageReader, UsageSide } from "../../usage/reported-usage.ts";

const reasons = tableOf<FinishReason>({
  end_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  stop_sequence: "stop_sequence",
  model_context_window_exceeded: "context_window",
  guardrail_intervened: "refusal",
  content_filtered: "refusal",
});

/** Converse reports no further details. */
const explanations = tableOf<string>({
  guardrail_intervened: "The provider's guardrail intervened.",
  content_filtered: "The provider's content filter stopped the response.",
});

/** An agent that takes one of these for an ending waits for ever: the model wanted to call a tool and failed to. */
const failures: ReadonlySet<string> = new Set(["malformed_model_output", "malformed_tool_use"]);

/** The model's failure; null if it did not fail. */
export function readFailure(stopReason: Json | undefined): GatewayError | null {
  const reason = stringOf(stopReason) ?? "";
  return failures.has(reason) ? malformedResponse(`its stopReason is ${reason}`) : null;
}

/** Null if there is no reason yet. */
export function readFinish(stopReason: Json | undefined): IrFinish | null {
  const reason = stringOf(stopReason) ?? "";
  if (reason === "") return null;
  const known = reasons[reason];
  if (known === undefined) return unknownFinish(reason);
  return { reason: known, stopSequence: null, explanation: explanations[reason] ?? null };
}

/** As in Anthropic's usage, the input count does not include cached tokens. Reasoning is not reported separately. */
function readUsage(usage: Json | undefined): ReportedUsage | null {
  if (!isObject(usage)) return null;
  const { inputTokens: input, outputTokens: output } = usage;
  if (!isTokenCount(input) && !isTokenCount(output)) return null;
  const side = new UsageSide();
  const inputTokens = side.figure(input);
  const cachedInputTokens = side.detail(usage["cacheReadInputTokens"]);
  const cacheWriteTokens = side.detail(usage["cacheWriteInputTokens"]);
  let hourTokens = 0;
  for (const { ttl, inputTokens: written } of objectsOf(usage["cacheDetails"])) {
    if (ttl === "1h") hourTokens += side.detail(written);
  }
  const hour = hourTokens === 0 ? {} : { cacheWriteHourTokens: hourTokens };
  return reportUsage({ inputTokens, cachedInputTokens, cacheWriteTokens, ...hour }, side, output, undefined);
}

export function readTier(answer: JsonObject): string | null {
  return stringOf(objectOf(answer["serviceTier"])?.["type"]);
}

export const usageReader: UsageReader = {
  usageIn: ({ usage }) => readUsage(usage),
  readExtras: (answer) => serviceTier(readTier(answer)),
};
