import type { Json } from "../../base/json.ts";
import { tableOf } from "../../base/table.ts";
import type { FinishReason, IrFinish } from "../ir/ir.ts";

const reasons = tableOf<FinishReason>({
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "refusal",
  // GLM's filter.
  sensitive: "refusal",
});

/** Reasons that say that the answer failed: OpenRouter's and GLM's. */
const failures: ReadonlySet<Json | undefined> = new Set(["error", "network_error"]);

export function isFailedFinish(reason: Json | undefined): boolean {
  return failures.has(reason);
}

/** An unknown reason ends the answer too; a missing or empty one does not. */
export function readFinish(reason: Json | undefined): IrFinish | null {
  if (typeof reason !== "string" || reason === "") return null;
  return { reason: reasons[reason] ?? "stop", stopSequence: null, explanation: null };
}

const wireReasons: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  stop_sequence: "stop",
  pause: "stop",
  tool_calls: "tool_calls",
  length: "length",
  context_window: "length",
  refusal: "content_filter",
};

export function writeFinish(finish: IrFinish): Json {
  return wireReasons[finish.reason];
}
