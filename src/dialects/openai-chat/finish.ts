import { tableOf } from "../../base/collections/table.ts";
import type { Json } from "../../base/json.ts";
import { unknownFinish } from "../ir/blocks.ts";
import type { FinishReason, IrFinish } from "../ir/ir.ts";

/** OpenAI's reasons, and what compatible servers call the same, in lower case. */
const reasons = tableOf<FinishReason | "failure">({
  stop: "stop",
  complete: "stop",
  completed: "stop",
  end_turn: "stop",
  eos: "stop",
  eos_token: "stop",
  stop_sequence: "stop",
  length: "length",
  max_length: "length",
  max_output_tokens: "length",
  max_tokens: "length",
  // Mistral's.
  model_length: "context_window",
  model_context_window_exceeded: "context_window",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  tool_call: "tool_calls",
  tool_use: "tool_calls",
  content_filter: "refusal",
  content_filtered: "refusal",
  refusal: "refusal",
  // GLM's filter, and Google's.
  sensitive: "refusal",
  blocklist: "refusal",
  model_armor: "refusal",
  prohibited_content: "refusal",
  recitation: "refusal",
  safety: "refusal",
  spii: "refusal",
  // OpenRouter and Mistral, GLM, DeepSeek, vLLM and SGLang, Cohere, Google.
  error: "failure",
  network_error: "failure",
  insufficient_system_resource: "failure",
  abort: "failure",
  timeout: "failure",
  function_call_filter: "failure",
  malformed_function_call: "failure",
});

/** Prefixes of reasons that are failures. */
export const failureMarks = Object.keys(reasons)
  .filter((known) => reasons[known] === "failure")
  .map((known) => `"${known}`);

/** Google's chat endpoint appends its own reason after a colon: `content_filter: RECITATION`. */
function splitReason(reason: string): readonly [known: string, detail: string | null] {
  const [first = "", ...details] = reason.toLowerCase().split(":");
  return [first.trim(), details.length === 0 ? null : reason.slice(first.length + 1).trim()];
}

export function isFailedFinish(reason: Json | undefined): boolean {
  return typeof reason === "string" && reasons[splitReason(reason)[0]] === "failure";
}

/** Null for a failure, and if there is none yet, which some servers write as "" or "null". */
export function readFinish(finish: Json | undefined): IrFinish | null {
  if (typeof finish !== "string" || finish === "" || finish === "null") return null;
  const [known, detail] = splitReason(finish);
  const reason = reasons[known];
  if (reason === undefined) return unknownFinish(finish);
  const explanation = reason === "refusal" ? detail : null;
  return reason === "failure" ? null : { reason, stopSequence: null, explanation };
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
