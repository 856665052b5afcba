import { tableOf } from "../../base/collections/table.ts";
import type { JsonObject } from "../../base/json.ts";
import { unknownFinish } from "../ir/blocks.ts";
import type { FinishReason, IrFinish } from "../ir/ir.ts";
import { objectOf, stringOf } from "../json/json-fields.ts";

const reasons = tableOf<FinishReason>({
  end_turn: "stop",
  stop_sequence: "stop_sequence",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "context_window",
  refusal: "refusal",
  pause_turn: "pause",
  // The conversation was summarized, and continues with the next request.
  compaction: "pause",
});

/** From a message, or from a stream's last delta; null if there is no reason yet. */
export function readFinish(end: JsonObject): IrFinish | null {
  const reason = stringOf(end["stop_reason"]);
  if (reason === null || reason === "") return null;
  const known = reasons[reason];
  if (known === undefined) return unknownFinish(reason);
  return {
    reason: known,
    stopSequence: stringOf(end["stop_sequence"]),
    explanation: stringOf(objectOf(end["stop_details"])?.["explanation"]),
  };
}

const wireReasons: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  stop_sequence: "stop_sequence",
  tool_calls: "tool_use",
  length: "max_tokens",
  context_window: "model_context_window_exceeded",
  refusal: "refusal",
  pause: "pause_turn",
};

/** Sets the stop fields. Only a refusal has details, as in Anthropic's own responses. */
export function addFinish(end: JsonObject, finish: IrFinish): void {
  end["stop_reason"] = wireReasons[finish.reason];
  end["stop_sequence"] = finish.stopSequence;
  if (finish.reason === "refusal") {
    end["stop_details"] = { type: "refusal", category: null, explanation: finish.explanation };
  }
}
