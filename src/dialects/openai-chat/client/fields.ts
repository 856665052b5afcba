import {
  carried,
  dropped,
  type FieldDecisions,
  type PartDecisions,
  unsupported,
} from "../../contract/field-decisions.ts";

/** The fields of a chat request, as of openai-node 7.53, and `top_k`, which compatible servers have. */
export const requestFields = {
  ...carried("function_call", "functions", "max_completion_tokens", "max_tokens", "messages", "metadata"),
  ...carried("model", "parallel_tool_calls", "prompt_cache_key", "reasoning_effort", "response_format"),
  ...carried("safety_identifier", "service_tier", "stop", "store", "stream", "stream_options"),
  ...carried("temperature", "tool_choice", "tools", "top_k", "top_p", "user", "verbosity"),
  ...dropped("frequency_penalty", "logit_bias", "prediction", "presence_penalty", "prompt_cache_options"),
  ...dropped("prompt_cache_retention", "seed"),
  audio: { rejected: unsupported },
  logprobs: { rejected: unsupported, except: [false] },
  // Audio among them is rejected, text is what every dialect gives.
  modalities: "carried",
  moderation: { rejected: `${unsupported}. Remove it` },
  n: { rejected: "must be 1 for this model's provider", except: [1] },
  top_logprobs: { rejected: unsupported, except: [0] },
  // Like any other tool that its vendor runs.
  web_search_options: "carried",
} as const satisfies FieldDecisions;

/** Fields of a message, whatever its role. */
export const messageFields = {
  ...carried("cache_control", "content", "function_call", "name", "reasoning_content", "refusal", "role"),
  ...carried("tool_call_id", "tool_calls"),
  // What an earlier answer cited.
  annotations: "dropped",
  audio: { rejected: unsupported },
  // What compatible servers show of their reasoning.
  reasoning: "carried",
} as const satisfies FieldDecisions;

/** Fields of a function's definition in `tools` or `functions`. */
export const functionFields = carried("cache_control", "description", "name", "parameters", "strict");

/** Fields of the parts of a message's content. Several clients send Anthropic's `cache_control`. */
export const partFields = {
  file: carried("cache_control", "file", "prompt_cache_breakpoint", "type"),
  image_url: carried("cache_control", "image_url", "prompt_cache_breakpoint", "type"),
  // Rejected as a whole.
  input_audio: { ...carried("input_audio", "type"), ...dropped("prompt_cache_breakpoint") },
  refusal: carried("refusal", "type"),
  text: carried("cache_control", "prompt_cache_breakpoint", "text", "type"),
} as const satisfies PartDecisions;
