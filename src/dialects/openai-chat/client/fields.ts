import { type FieldDecisions, type PartDecisions, unsupported } from "../../contract/field-decisions.ts";

/** The fields of a chat request, as of openai-node 7.53, and `top_k`, which compatible servers have. */
export const requestFields = {
  audio: { rejected: unsupported },
  frequency_penalty: "dropped",
  function_call: "carried",
  functions: "carried",
  logit_bias: "dropped",
  logprobs: { rejected: unsupported, except: [false] },
  max_completion_tokens: "carried",
  max_tokens: "carried",
  messages: "carried",
  metadata: "carried",
  // Audio among them is rejected, text is what every dialect gives.
  modalities: "carried",
  model: "carried",
  moderation: { rejected: `${unsupported}. Remove it` },
  n: { rejected: "must be 1 for this model's provider", except: [1] },
  parallel_tool_calls: "carried",
  prediction: "dropped",
  presence_penalty: "dropped",
  prompt_cache_key: "carried",
  prompt_cache_options: "dropped",
  prompt_cache_retention: "dropped",
  reasoning_effort: "carried",
  response_format: "carried",
  safety_identifier: "carried",
  seed: "dropped",
  service_tier: "carried",
  stop: "carried",
  store: "carried",
  stream: "carried",
  stream_options: "carried",
  temperature: "carried",
  tool_choice: "carried",
  tools: "carried",
  top_k: "carried",
  top_logprobs: { rejected: unsupported, except: [0] },
  top_p: "carried",
  user: "carried",
  verbosity: "carried",
  // Like any other tool that its vendor runs.
  web_search_options: "carried",
} as const satisfies FieldDecisions;

/** Fields of a message, whatever its role. */
export const messageFields = {
  // What an earlier answer cited.
  annotations: "dropped",
  audio: { rejected: unsupported },
  cache_control: "carried",
  content: "carried",
  function_call: "carried",
  name: "carried",
  // What compatible servers show of their reasoning.
  reasoning: "carried",
  reasoning_content: "carried",
  refusal: "carried",
  role: "carried",
  tool_call_id: "carried",
  tool_calls: "carried",
} as const satisfies FieldDecisions;

/** Fields of a function's definition in `tools` or `functions`. */
export const functionFields = {
  cache_control: "carried",
  description: "carried",
  name: "carried",
  parameters: "carried",
  strict: "carried",
} as const satisfies FieldDecisions;

/** Fields of the parts of a message's content. Several clients send Anthropic's `cache_control`. */
export const partFields = {
  file: { cache_control: "carried", file: "carried", prompt_cache_breakpoint: "carried", type: "carried" },
  image_url: {
    cache_control: "carried",
    image_url: "carried",
    prompt_cache_breakpoint: "carried",
    type: "carried",
  },
  // Rejected as a whole.
  input_audio: { input_audio: "carried", prompt_cache_breakpoint: "dropped", type: "carried" },
  refusal: { refusal: "carried", type: "carried" },
  text: { cache_control: "carried", prompt_cache_breakpoint: "carried", text: "carried", type: "carried" },
} as const satisfies PartDecisions;
