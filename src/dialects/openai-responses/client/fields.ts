import {
  carried,
  dropped,
  type FieldDecisions,
  ignored,
  type PartDecisions,
  unsupported,
} from "../../contract/field-decisions.ts";

const keepsNothing = `${unsupported}. Send the full conversation in \`input\``;

/** The fields of a Responses request, as of openai-node 7.53 and Open Responses. */
export const requestFields = {
  ...carried("input", "instructions", "max_output_tokens", "metadata", "model", "parallel_tool_calls"),
  ...carried("prompt_cache_key", "reasoning", "safety_identifier", "service_tier", "store", "stream"),
  ...carried("temperature", "text", "tool_choice", "tools", "top_p", "user"),
  ...dropped("access_programs", "context_management", "frequency_penalty", "image", "max_tool_calls"),
  ...dropped("presence_penalty", "prompt_cache_options", "prompt_cache_retention"),
  background: { rejected: unsupported, except: [false] },
  conversation: { rejected: keepsNothing },
  // Encrypted reasoning is always included; log probabilities are rejected, other values dropped.
  include: "carried",
  moderation: { rejected: `${unsupported}. Remove it` },
  previous_response_id: { rejected: keepsNothing },
  prompt: { rejected: `${unsupported}. Send the prompt text in \`input\`` },
  // Only about the padding of events.
  stream_options: "carried",
  top_logprobs: { rejected: unsupported, except: [0] },
  // `auto` is dropped: other providers reject what is too long.
  truncation: "carried",
} as const satisfies FieldDecisions;

export const reasoningFields = {
  ...carried("effort", "generate_summary", "summary"),
  ...dropped("context", "mode"),
} as const satisfies FieldDecisions;

export const textFields = { format: "carried", verbosity: "carried" } as const satisfies FieldDecisions;

/** Fields of a function, in `tools` or in the conversation. */
export const functionFields = {
  ...carried("description", "name", "parameters", "strict", "type"),
  ...dropped("allowed_callers", "async", "defer_loading", "output_schema"),
} as const satisfies FieldDecisions;

/** Fields of a free-form tool. */
export const customToolFields = {
  ...carried("description", "format", "name", "type"),
  ...dropped("allowed_callers", "async", "defer_loading"),
} as const satisfies FieldDecisions;

/** Fields of the input items that are translated. A phase is reported on its own. */
export const itemFields = {
  additional_tools: { ...ignored("id", "role"), ...carried("tools", "type") },
  custom_tool_call: {
    ...carried("call_id", "input", "name", "namespace", "type"),
    ...dropped("async"),
    ...ignored("caller", "id", "status"),
  },
  custom_tool_call_output: { ...carried("call_id", "output", "type"), ...ignored("caller", "id", "status") },
  function_call: {
    ...carried("arguments", "call_id", "name", "namespace", "type"),
    ...dropped("async"),
    ...ignored("caller", "id", "status"),
  },
  function_call_output: {
    ...carried("call_id", "output", "type"),
    ...ignored("caller", "id", "status"),
    // They repeat what the call says.
    ...ignored("name", "namespace"),
  },
  message: { ...carried("content", "phase", "role", "type"), ...ignored("id", "status") },
  reasoning: { ...carried("content", "encrypted_content", "id", "summary", "type"), ...ignored("status") },
} as const satisfies PartDecisions;

/** Fields of the parts of a message or an output. Annotations are reported on their own. */
export const partFields = {
  input_file: {
    ...carried("file_data", "file_id", "file_url", "filename", "prompt_cache_breakpoint", "type"),
    ...dropped("detail"),
  },
  input_image: carried("detail", "file_id", "image_url", "prompt_cache_breakpoint", "type"),
  input_text: carried("prompt_cache_breakpoint", "text", "type"),
  output_text: { ...carried("annotations", "text", "type"), ...ignored("logprobs") },
  refusal: carried("refusal", "type"),
} as const satisfies PartDecisions;
